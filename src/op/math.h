// The vocabulary in which gradients and composites are written. Each function calls the op of the same name.
#pragma once

#include "op/call.h"

namespace hw {

/// A Python number as a tensor that gives way in type promotion.
Tensor number(const Scalar& value);

Tensor add(const Tensor& a, const Tensor& b);
Tensor sub(const Tensor& a, const Tensor& b);
Tensor mul(const Tensor& a, const Tensor& b);
Tensor div(const Tensor& a, const Tensor& b);
Tensor pow(const Tensor& a, const Tensor& b);
Tensor neg(const Tensor& x);
Tensor exp(const Tensor& x);
Tensor log(const Tensor& x);
Tensor sqrt(const Tensor& x);
Tensor rsqrt(const Tensor& x);
Tensor square(const Tensor& x);
Tensor reciprocal(const Tensor& x);
Tensor sin(const Tensor& x);
Tensor cos(const Tensor& x);
Tensor tanh(const Tensor& x);
Tensor sigmoid(const Tensor& x);
Tensor abs(const Tensor& x);
Tensor sign(const Tensor& x);
Tensor conj(const Tensor& x);  // the same tensor when it is real
Tensor real(const Tensor& x);
Tensor eq(const Tensor& a, const Tensor& b);
Tensor ne(const Tensor& a, const Tensor& b);
Tensor lt(const Tensor& a, const Tensor& b);
Tensor le(const Tensor& a, const Tensor& b);
Tensor gt(const Tensor& a, const Tensor& b);
Tensor ge(const Tensor& a, const Tensor& b);
Tensor logical_and(const Tensor& a, const Tensor& b);
Tensor logical_not(const Tensor& x);
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
Tensor maximum(const Tensor& a, const Tensor& b);
Tensor minimum(const Tensor& a, const Tensor& b);

Tensor sum(const Tensor& x, Dims dim = {}, bool keepdim = false);  // empty dim: all axes
Tensor mean(const Tensor& x, Dims dim = {}, bool keepdim = false);
Tensor amax(const Tensor& x, Dims dim = {}, bool keepdim = false);
Tensor sum_to(const Tensor& x, const Dims& shape);  // undoes broadcasting; x itself if nothing changes
Tensor to(const Tensor& x, DType dtype);            // x itself if nothing changes
Tensor clone(const Tensor& x);
Tensor contiguous(const Tensor& x);

Tensor reshape(const Tensor& x, Dims shape);
Tensor permute(const Tensor& x, Dims axes);
Tensor transpose(const Tensor& x, int64_t a, int64_t b);
Tensor mT(const Tensor& x);  // the last two axes swapped
Tensor expand(const Tensor& x, Dims shape);
Tensor unsqueeze(const Tensor& x, int64_t dim);
Tensor squeeze(const Tensor& x, int64_t dim);
Tensor narrow(const Tensor& x, int64_t dim, int64_t start, int64_t length);
Tensor cat(std::span<const Tensor> tensors, int64_t dim);
Tensor flip(const Tensor& x, Dims dims);
Tensor matmul(const Tensor& a, const Tensor& b);

Tensor zeros(Dims shape, DType dtype);
Tensor ones(Dims shape, DType dtype);
Tensor full(Dims shape, Scalar value, DType dtype);
Tensor zeros_like(const Tensor& x);

inline Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return sub(a, b); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return mul(a, b); }
inline Tensor operator/(const Tensor& a, const Tensor& b) { return div(a, b); }
inline Tensor operator-(const Tensor& a) { return neg(a); }
inline Tensor operator+(const Tensor& a, const Scalar& b) { return add(a, number(b)); }
inline Tensor operator-(const Tensor& a, const Scalar& b) { return sub(a, number(b)); }
inline Tensor operator*(const Tensor& a, const Scalar& b) { return mul(a, number(b)); }
inline Tensor operator/(const Tensor& a, const Scalar& b) { return div(a, number(b)); }
inline Tensor operator+(const Scalar& a, const Tensor& b) { return add(number(a), b); }
inline Tensor operator-(const Scalar& a, const Tensor& b) { return sub(number(a), b); }
inline Tensor operator*(const Scalar& a, const Tensor& b) { return mul(number(a), b); }
inline Tensor operator/(const Scalar& a, const Tensor& b) { return div(number(a), b); }

}  // namespace hw
