// A fused expression: elementwise operators over operands of one shape, as plain data.
#pragma once

#include <string>
#include <vector>

#include "kernels/elementwise/loops.h"

namespace hw {

/// Values are numbered: inputs first, then nodes.
struct FusedInput {
  DType dtype;
  bool varies;  // along the innermost axis, contiguously; else one element serves a row
};

struct FusedNode {
  std::string functor;          // "cast" converts
  DType compute = DType::None;  // what inputs are converted to first
  DType dtype = DType::None;    // of the result
  LoopParams params;
  std::vector<int32_t> inputs;
};

struct FusedExpression {
  std::vector<FusedInput> inputs;
  std::vector<FusedNode> nodes;
  std::vector<int32_t> outputs;  // values
};

/// How code is written: `lanes` elements at a time; `streaming`: past the cache, to memory aligned to the vector.
struct CodeStyle {
  int lanes = 8;
  bool streaming = false;
};

/// The expression as a function `name` in LLVM's language, or empty with the reason. Its parameters: operands (inputs, then outputs), the
/// bytes from row to row of each, rows, elements of a row (a multiple of `lanes`).
std::string write_code(const FusedExpression& expression, const CodeStyle& style, std::string& why_not);

/// Whether a node can be written at all.
bool can_write(const FusedNode& node, std::string& why_not);

}  // namespace hw
