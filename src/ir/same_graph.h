// Whether two graphs say the same, and attributes, bit for bit.
#pragma once

#include <string>

#include "ir/graph.h"

namespace hw {

/// Equal kind and value; 0 and -0 differ, NaN equals NaN.
bool same_attr(const AttrValue& a, const AttrValue& b);
bool same_attrs(const Attrs& a, const Attrs& b);
bool same_spec(const TensorSpec& a, const TensorSpec& b);
/// Equal dtype, shape and elements (bit for bit, but NaN equals NaN), whatever the strides.
bool same_elements(const Tensor& a, const Tensor& b);

/// Equal up to the numbers of values, nodes and origins: the same sources, nodes in the same order, and results. What is
/// not in the order does not count. `why` gets the first difference.
bool same_graph(const Graph& a, const Graph& b, std::string* why = nullptr);

}  // namespace hw
