// A kernel that runs generated code over a nest of rows.
#pragma once

#include <memory>
#include <vector>

#include "codegen/compiled.h"
#include "codegen/expression.h"
#include "kernels/kernel.h"
#include "kernels/loops/nest.h"

namespace hw {

/// What the code is run on: operands in the order of the code, inputs first.
struct RowsShape {
  Nest nest;                    // operand o of the code is operand o of the nest
  std::vector<int64_t> sizes;   // bytes of an element
  std::vector<uint8_t> varies;  // 0: one element serves a row
  size_t num_inputs = 0;
  int lanes = 0;
};

/// `streaming` may be null; it is used where the outputs lie on whole vectors.
std::unique_ptr<Kernel> make_code_kernel(RowsShape shape, RowsFunction code, RowsFunction streaming);

}  // namespace hw
