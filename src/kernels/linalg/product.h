// What a matrix-product op asks of a kernel: one batch of products with strides, whichever op it came from.
#pragma once

#include <string>

#include "kernels/kernel.h"

namespace hw {

/// C = alpha * A B + beta * input. A is [batch, m, k], B [batch, k, n], C [batch, m, n]; strides in elements.
struct Product {
  DType dtype = DType::F32;
  int64_t batch = 1, m = 0, n = 0, k = 0;
  int64_t a_batch = 0, a_row = 0, a_col = 1;
  int64_t b_batch = 0, b_row = 0, b_col = 1;
  int64_t c_batch = 0, c_row = 0, c_col = 1;
  bool has_input = false;  // strides of 0 broadcast it (a bias)
  int64_t input_batch = 0, input_row = 0, input_col = 0;
  double alpha = 1, beta = 1;

  /// The same product written as C^T = B^T A^T.
  Product transposed() const;
};

/// A product and where its operands stand among the op's inputs.
struct ProductRequest {
  Product product;
  int a = 0, b = 1, input = -1;
  /// The leading axes of A (or C) are strided in a way no single row stride describes: copy it first (linear only).
  bool gather_a = false;
};

/// Reads mm(a, b), bmm(a, b), addmm(input, mat1, mat2; beta, alpha), baddbmm(the same) and linear(input, weight, bias?).
/// Throws Error{Value} for sizes that do not fit; returns false with the reason for dtypes or outputs nobody serves.
bool read_product(const KernelRequest& request, ProductRequest& out, std::string& why_not);

/// Copies a strided tensor to contiguous memory.
void gather(const void* from, const TensorSpec& spec, void* to);

}  // namespace hw
