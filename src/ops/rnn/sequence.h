// What lstm, gru and the plain recurrent network share: layers, directions and time.
#pragma once

#include "op/math.h"

namespace hw {

/// The attributes in the order in which the three ops declare them.
struct SequenceOptions {
  bool has_biases;
  int64_t num_layers;
  double dropout;
  bool train, bidirectional, batch_first;
};
SequenceOptions sequence_options(const Attrs& attrs);

/// Whether h and c of an LSTM differ in width: h is projected by w_hr, the last weight of each layer and direction.
bool is_projected(std::span<const Tensor> states);

/// One layer in one direction over x [L, N, in]: returns the output [L, N, H]. `weights`: w_ih, w_hh and, with biases, b_ih, b_hh.
/// `states`: h and, for lstm, c, each [N, H], replaced by their values after the last step.
using RecurrentLayer = Tensor (*)(const Tensor& x, std::span<const Tensor> weights, bool biases, bool reverse,
                                  std::span<Tensor> states);

/// One step: `projected` is W_ih x_t + b_ih, [N, gates * H]; `b_hh` may be undefined.
using RecurrentStep = void (*)(const Tensor& projected, const Tensor& w_hh, const Tensor& b_hh,
                               std::span<Tensor> states);
/// A layer made of steps.
Tensor run_steps(const Tensor& x, std::span<const Tensor> weights, bool biases, bool reverse, std::span<Tensor> states,
                 RecurrentStep step);

/// Runs all layers over `input` [L, N, in] ([N, L, in] batch first). `states`: initial ones, each [layers * directions, N, H].
/// `weights`: per layer and direction w_ih, w_hh, with biases b_ih, b_hh, and w_hr if h is projected. Returns the output and the final states.
Tensors run_sequence(const Tensor& input, std::span<const Tensor> states, std::span<const Tensor> weights,
                     int64_t gates, const SequenceOptions& options, RecurrentLayer layer);

/// The same as a RecurrentLayer.
template <RecurrentStep step>
Tensor layer_of_steps(const Tensor& x, std::span<const Tensor> weights, bool biases, bool reverse,
                      std::span<Tensor> states) {
  return run_steps(x, weights, biases, reverse, states, step);
}

}  // namespace hw
