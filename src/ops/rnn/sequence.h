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

/// One step of one layer and direction. `projected`: W_ih x_t + b_ih, [N, gates * H]; `states`: h and, for lstm, c, each [N, H],
/// replaced by their new values. `b_hh` may be undefined.
using RecurrentStep = void (*)(const Tensor& projected, const Tensor& w_hh, const Tensor& b_hh,
                               std::span<Tensor> states);

/// Runs all layers over `input` [L, N, in] ([N, L, in] batch first). `states`: initial ones, each [layers * directions, N, H].
/// `weights`: per layer and direction w_ih, w_hh and, with biases, b_ih, b_hh. Returns the output and the final states.
Tensors run_sequence(const Tensor& input, std::span<const Tensor> states, std::span<const Tensor> weights,
                     int64_t gates, const SequenceOptions& options, RecurrentStep step);

}  // namespace hw
