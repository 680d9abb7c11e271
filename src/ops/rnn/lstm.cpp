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

static const RegisterOp op =
    OpDef("_lstm")
        .doc(
            "Long short-term memory (Hochreiter and Schmidhuber, 1997) over a sequence; gates in the order input, "
            "forget, cell, "
            "output. Returns the output, the final h and the final c.")
        .in("input", "[L, N, in], or [N, L, in] batch first", floating)
        .in("h0", "[layers * directions, N, H]", floating)
        .in("c0", "[layers * directions, N, H]", floating)
        .in_list("params", "per layer and direction: w_ih, w_hh[, b_ih, b_hh]", floating)
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
          return run_sequence(in[0], in.subspan(1, 2), in.subspan(3), 4, sequence_options(attrs), lstm_layer);
        });

}  // namespace hw
