// Giving a value other strides, and its views with it.
#pragma once

#include <map>

#include "ir/rewrite.h"

namespace hw {

/// What a value and the views of it become when the value has the strides of `spec` instead of its own. Adds to `changes`, and
/// changes nothing yet; false if some view cannot be made of those strides, or if the caller would see it: a result keeps its own.
bool restride(const Rewriter& r, const Graph& graph, ValueId v, const TensorSpec& spec,
              std::map<ValueId, TensorSpec>& changes);

void apply_specs(Graph& graph, const std::map<ValueId, TensorSpec>& changes);

}  // namespace hw
