// Reading attribute values, specs and the elements of constants from graph text.
#pragma once

#include "core/attr.h"
#include "core/tensor.h"
#include "ir/cursor.h"

namespace hw {

AttrValue read_attr(Cursor& c, AttrValue::Kind declared);
TensorSpec read_spec(Cursor& c);
/// Elements in row-major order: one value for a 0-d tensor, else a list.
Tensor read_elements(Cursor& c, const TensorSpec& spec);

}  // namespace hw
