// _lstm: long short-term memory over a sequence.
#include "ops/rnn/sequence.h"

namespace hw {

/// i, f, g, o = chunks; c' = sigmoid(f) c + sigmoid(i) tanh(g); h' = sigmoid(o) tanh(c').
static void lstm_step(const Tensor& projected, const Tensor& w_hh, const Tensor& b_hh, std::span<Tensor> states) {
  static const Op linear{"linear"};
  Tensor gates = projected + linear({states[0], w_hh, b_hh});
  int64_t hidden = w_hh.shape()[1];
  Tensor in_forget = sigmoid(narrow(gates, 1, 0, 2 * hidden));
  Tensor cell = tanh(narrow(gates, 1, 2 * hidden, hidden)), out = sigmoid(narrow(gates, 1, 3 * hidden, hidden));
  states[1] = narrow(in_forget, 1, hidden, hidden) * states[1] + narrow(in_forget, 1, 0, hidden) * cell;
  states[0] = out * tanh(states[1]);
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
          return run_sequence(in[0], in.subspan(1, 2), in.subspan(3), 4, sequence_options(attrs), lstm_step);
        });

}  // namespace hw
