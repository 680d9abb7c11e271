// Rules that the matrix products share.
#pragma once

#include "op/op_def.h"

namespace hw {

/// The dtype of all given inputs, which must be the same.
DType product_dtype(const InferCtx& c);
/// [batch..., m, n] of inputs `a` and `b`, which have `ndim` axes (2 or 3) and fit.
Dims product_shape(const InferCtx& c, size_t a, size_t b, int64_t ndim);
/// x * s, or x itself when s is 1.
Tensor scaled(const Tensor& x, const Scalar& s);
/// The conjugate of x with its last two axes swapped.
Tensor adjoint(const Tensor& x);

namespace sbp {
/// C[m, n] = A[m, k] B[k, n], with an optional batch axis in front of all: rows, columns, batch, and partial sums over k.
/// `inputs` is the number of inputs, `a` the index of A, B follows; other inputs are added and broadcast.
void product(SbpCtx& c, size_t inputs, size_t a, bool batched);
}  // namespace sbp

}  // namespace hw
