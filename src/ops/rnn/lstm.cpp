// _lstm: long short-term memory over a sequence.
#include "ops/rnn/sequence.h"

namespace hw {

/// One layer and direction in f32 or f64; 16-bit inputs are widened for the recurrence and rounded once.
static Tensor lstm_layer(const Tensor& x, std::span<const Tensor> w, bool biases, bool reverse,
                         std::span<Tensor> states) {
  static const Op linear{"linear"}, layer{"_lstm_layer"}, select{"select"};
  const DType wide = x.dtype() == DType::F64 ? DType::F64 : DType::F32;
  Tensor projected = to(linear({x, w[0], biases ? w[2] + w[3] : Tensor()}), wide);
  Tensors y = layer.all({projected, to(w[1], wide), to(states[0], wide), to(states[1], wide)}, {reverse});
  const int64_t last = reverse ? 0 : x.shape()[0] - 1;
  Tensor output = to(y[0], x.dtype());
  states[0] = select({output}, {int64_t{0}, last});
  states[1] = to(select({y[1]}, {int64_t{0}, last}), x.dtype());
  return output;
}

/// The same with h = w_hr (sigmoid(o) tanh(c)), step by step (Sak et al., 2014).
static Tensor projected_layer(const Tensor& x, std::span<const Tensor> w, bool biases, bool reverse,
                              std::span<Tensor> states) {
  static const Op linear{"linear"}, select{"select"}, stack{"stack"};
  const DType wide = x.dtype() == DType::F64 ? DType::F64 : DType::F32;
  const Tensor projected = to(linear({x, w[0], biases ? w[2] + w[3] : Tensor()}), wide);
  const Tensor w_hh = mT(to(w[1], wide)), w_hr = mT(to(w.back(), wide));
  const int64_t length = x.shape()[0], hidden = w.back().shape()[1];
  Tensor h = to(states[0], wide), c = to(states[1], wide);
  Tensors outputs(static_cast<size_t>(length));
  for (int64_t i = 0; i < length; ++i) {
    const int64_t t = reverse ? length - 1 - i : i;
    const Tensor sums = select({projected}, {int64_t{0}, t}) + matmul(h, w_hh);
    auto part = [&](int64_t k) { return narrow(sums, 1, k * hidden, hidden); };
    c = sigmoid(part(1)) * c + sigmoid(part(0)) * tanh(part(2));
    h = matmul(sigmoid(part(3)) * tanh(c), w_hr);
    outputs[static_cast<size_t>(t)] = h;
  }
  states[0] = to(h, x.dtype()), states[1] = to(c, x.dtype());
  return to(stack(std::span<const Tensor>(outputs), {int64_t{0}}), x.dtype());
}

static const RegisterOp op =
    OpDef("_lstm")
        .doc(
            "Long short-term memory (Hochreiter and Schmidhuber, 1997) over a sequence; gates in the order input, "
            "forget, cell, "
            "output. Returns the output, the final h and the final c. Where h0 is narrower than c0, h is projected by "
            "w_hr.")
        .in("input", "[L, N, in], or [N, L, in] batch first", floating)
        .in("h0", "[layers * directions, N, H], or the size of the projection instead of H", floating)
        .in("c0", "[layers * directions, N, H]", floating)
        .in_list("params", "per layer and direction: w_ih, w_hh[, b_ih, b_hh][, w_hr]", floating)
        .attr("has_biases", true, "whether the weights include b_ih and b_hh")
        .attr("num_layers", int64_t{1}, "layers")
        .attr("dropout", 0.0, "between layers, in training")
        .attr("train", false, "whether dropout is on")
        .attr("bidirectional", false, "a second direction from the end")
        .attr("batch_first", false, "axes are [N, L, in] instead of [L, N, in]")
        .out("output")
        .out("h_n")
        .out("c_n")
        .internal()
        .composite([](std::span<const Tensor> in, const Attrs& attrs) {
          return run_sequence(in[0], in.subspan(1, 2), in.subspan(3), 4, sequence_options(attrs),
                              is_projected(in.subspan(1, 2)) ? projected_layer : lstm_layer);
        });

}  // namespace hw
