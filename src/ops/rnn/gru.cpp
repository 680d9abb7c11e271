// _gru: gated recurrent unit over a sequence.
#include "ops/rnn/sequence.h"

namespace hw {

/// r, z, n = chunks; n = tanh(x_n + sigmoid(r) (W_hn h + b_hn)); h' = n + sigmoid(z) (h - n).
static void gru_step(const Tensor& projected, const Tensor& w_hh, const Tensor& b_hh, std::span<Tensor> states) {
  static const Op linear{"linear"};
  Tensor recurrent = linear({states[0], w_hh, b_hh});
  int64_t hidden = w_hh.shape()[1];
  Tensor reset_update = sigmoid(narrow(projected, 1, 0, 2 * hidden) + narrow(recurrent, 1, 0, 2 * hidden));
  Tensor next = tanh(narrow(projected, 1, 2 * hidden, hidden) +
                     narrow(reset_update, 1, 0, hidden) * narrow(recurrent, 1, 2 * hidden, hidden));
  states[0] = next + narrow(reset_update, 1, hidden, hidden) * (states[0] - next);
}

static const RegisterOp op =
    OpDef("_gru")
        .doc(
            "Gated recurrent unit (Cho et al., 2014) over a sequence; gates in the order reset, update, new. Returns "
            "the output "
            "and the final h.")
        .in("input", "[L, N, in], or [N, L, in] batch first", floating)
        .in("h0", "[layers * directions, N, H]", floating)
        .in_list("params", "per layer and direction: w_ih, w_hh[, b_ih, b_hh]", floating)
        .attr("has_biases", true, "whether the weights include b_ih and b_hh")
        .attr("num_layers", int64_t{1}, "layers")
        .attr("dropout", 0.0, "between layers, in training")
        .attr("train", false, "whether dropout is on")
        .attr("bidirectional", false, "a second direction from the end")
        .attr("batch_first", false, "axes are [N, L, in] instead of [L, N, in]")
        .out("output")
        .out("h_n")
        .internal()
        .composite([](std::span<const Tensor> in, const Attrs& attrs) {
          return run_sequence(in[0], in.subspan(1, 1), in.subspan(2), 3, sequence_options(attrs),
                              layer_of_steps<gru_step>);
        });

}  // namespace hw
