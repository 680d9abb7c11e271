// Autograd and data access for C++ users.
#pragma once

#include <string>
#include <vector>

#include "autograd/mode.h"
#include "headwater/call.h"

namespace headwater {

/// Nothing is recorded while it lives.
struct NoGrad {
  hw::GradModeGuard guard{false};
};

/// Makes a leaf ask for gradients; returns it.
Tensor requires_grad(const Tensor& leaf);
/// Adds gradients to the leaves that `loss` (one element) was computed from.
void backward(const Tensor& loss, bool retain_graph = false, bool create_graph = false);
/// The gradients of `loss` with respect to `inputs`; `.grad` is left alone. Undefined for unused inputs.
Tensors gradients(const Tensor& loss, std::span<const Tensor> inputs, bool create_graph = false);
/// The accumulated gradient of a leaf; undefined if none arrived.
Tensor grad(const Tensor& leaf);
void zero_grad(std::span<const Tensor> leaves);

/// A copy of `values`, in row-major order.
Tensor from_vector(const std::vector<float>& values, Dims shape);
Tensor from_vector(const std::vector<int64_t>& values, Dims shape);
/// The elements of a tensor converted to float, in row-major order.
std::vector<float> to_vector(const Tensor& t);
std::string to_string(const Tensor& t);
void manual_seed(uint64_t seed);
void set_num_threads(int n);

}  // namespace headwater
