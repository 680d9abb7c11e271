// Pieces of tensors between processes, now or as a node of a captured graph.
#pragma once

#include <vector>

#include "core/tensor.h"

namespace hw {

/// A piece that goes to a process or comes from one.
struct Sent {
  Tensor piece;
  int process = 0;
};
struct Expected {
  Dims shape;
  int process = 0;
};

/// Sends, and returns what comes. Each process calls this for the same exchanges in the same order; one with nothing to send and
/// nothing to expect may leave it out.
std::vector<Tensor> exchange(const std::vector<Sent>& sent, const std::vector<Expected>& expected, DType dtype);

/// Where a kernel's run failed because an exchange did: throws what the messenger threw, whole.
void rethrow_failed_exchange();

}  // namespace hw
