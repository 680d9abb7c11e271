// _rnn_tanh: the plain recurrent network over a sequence.
#include "ops/rnn/sequence.h"

namespace hw {

static void rnn_step(const Tensor& projected, const Tensor& w_hh, const Tensor& b_hh, std::span<Tensor> states) {
  static const Op linear{"linear"}, activation{"tanh"};
  states[0] = activation({projected + linear({states[0], w_hh, b_hh})});
}

static const RegisterOp op =
    OpDef("_rnn_tanh")
        .doc(
            "Plain recurrent network (Elman, 1990) over a sequence: h' = tanh(W_ih x + b_ih + W_hh h + b_hh). Returns "
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
          return run_sequence(in[0], in.subspan(1, 1), in.subspan(2), 1, sequence_options(attrs),
                              layer_of_steps<rnn_step>);
        });

}  // namespace hw
