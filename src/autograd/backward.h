// Running the tape backwards.
#pragma once

#include "autograd/node.h"

namespace hw {

/// Adds to `.grad` of every leaf that `roots` depend on, or only of `inputs` if given. An undefined entry of `gradients` stands
/// for 1 and needs a root with one element.
void backward(std::span<const Tensor> roots, std::span<const Tensor> gradients, bool retain_graph, bool create_graph,
              std::span<const Tensor> inputs = {});

/// The gradients with respect to `inputs`; undefined for unused ones if `allow_unused`, else an error.
Tensors grad(std::span<const Tensor> roots, std::span<const Tensor> gradients, std::span<const Tensor> inputs,
             bool retain_graph, bool create_graph, bool allow_unused);

}  // namespace hw
