// Operators as instructions: floats by the trace of their functor, integers and bool by a table.
#pragma once

#include <span>

#include "codegen/expression.h"
#include "codegen/writer.h"

namespace hw {

/// The result of a node from its inputs, which are of its compute dtype; `dtype` becomes the dtype of the result.
std::string write_node(Writer& w, const FusedNode& node, std::span<const std::string> inputs, DType& dtype);

/// Whether the functor has an expression for integers or bool.
bool has_integer_form(std::string_view functor, DType compute);

}  // namespace hw
