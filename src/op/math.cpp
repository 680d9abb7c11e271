// Each function looks its op up once and calls it.
#include "op/math.h"

#include "base/error.h"

namespace hw {

Tensor number(const Scalar& value) {
  DType d = value.kind() == Scalar::Kind::Float     ? DType::F64
            : value.kind() == Scalar::Kind::Complex ? DType::C128
                                                    : value.dtype();
  return Tensor::scalar(value, d, true);
}

Tensor add(const Tensor& a, const Tensor& b) {
  static const Op op{"add"};
  return op({a, b});
}
Tensor sub(const Tensor& a, const Tensor& b) {
  static const Op op{"sub"};
  return op({a, b});
}
Tensor mul(const Tensor& a, const Tensor& b) {
  static const Op op{"mul"};
  return op({a, b});
}
Tensor div(const Tensor& a, const Tensor& b) {
  static const Op op{"div"};
  return op({a, b});
}
Tensor pow(const Tensor& a, const Tensor& b) {
  static const Op op{"pow"};
  return op({a, b});
}
Tensor neg(const Tensor& x) {
  static const Op op{"neg"};
  return op({x});
}
Tensor exp(const Tensor& x) {
  static const Op op{"exp"};
  return op({x});
}
Tensor log(const Tensor& x) {
  static const Op op{"log"};
  return op({x});
}
Tensor sqrt(const Tensor& x) {
  static const Op op{"sqrt"};
  return op({x});
}
Tensor rsqrt(const Tensor& x) {
  static const Op op{"rsqrt"};
  return op({x});
}
Tensor square(const Tensor& x) {
  static const Op op{"square"};
  return op({x});
}
Tensor reciprocal(const Tensor& x) {
  static const Op op{"reciprocal"};
  return op({x});
}
Tensor sin(const Tensor& x) {
  static const Op op{"sin"};
  return op({x});
}
Tensor cos(const Tensor& x) {
  static const Op op{"cos"};
  return op({x});
}
Tensor tanh(const Tensor& x) {
  static const Op op{"tanh"};
  return op({x});
}
Tensor sigmoid(const Tensor& x) {
  static const Op op{"sigmoid"};
  return op({x});
}
Tensor abs(const Tensor& x) {
  static const Op op{"abs"};
  return op({x});
}
Tensor sign(const Tensor& x) {
  static const Op op{"sign"};
  return op({x});
}
Tensor conj(const Tensor& x) {
  static const Op op{"conj"};
  return is_complex(x.dtype()) ? op({x}) : x;
}
Tensor real(const Tensor& x) {
  static const Op op{"real"};
  return is_complex(x.dtype()) ? op({x}) : x;
}
Tensor eq(const Tensor& a, const Tensor& b) {
  static const Op op{"eq"};
  return op({a, b});
}
Tensor ne(const Tensor& a, const Tensor& b) {
  static const Op op{"ne"};
  return op({a, b});
}
Tensor lt(const Tensor& a, const Tensor& b) {
  static const Op op{"lt"};
  return op({a, b});
}
Tensor le(const Tensor& a, const Tensor& b) {
  static const Op op{"le"};
  return op({a, b});
}
Tensor gt(const Tensor& a, const Tensor& b) {
  static const Op op{"gt"};
  return op({a, b});
}
Tensor ge(const Tensor& a, const Tensor& b) {
  static const Op op{"ge"};
  return op({a, b});
}
Tensor logical_and(const Tensor& a, const Tensor& b) {
  static const Op op{"logical_and"};
  return op({a, b});
}
Tensor logical_not(const Tensor& x) {
  static const Op op{"logical_not"};
  return op({x});
}
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  static const Op op{"where"};
  return op({condition, a, b});
}
Tensor maximum(const Tensor& a, const Tensor& b) {
  static const Op op{"maximum"};
  return op({a, b});
}
Tensor minimum(const Tensor& a, const Tensor& b) {
  static const Op op{"minimum"};
  return op({a, b});
}

Tensor sum(const Tensor& x, Dims dim, bool keepdim) {
  static const Op op{"sum"};
  return op({x}, {std::move(dim), keepdim});
}
Tensor mean(const Tensor& x, Dims dim, bool keepdim) {
  static const Op op{"mean"};
  return op({x}, {std::move(dim), keepdim});
}
Tensor amax(const Tensor& x, Dims dim, bool keepdim) {
  static const Op op{"amax"};
  return op({x}, {std::move(dim), keepdim});
}

Tensor sum_to(const Tensor& x, const Dims& shape) {
  if (x.shape() == shape) return x;
  Dims axes;
  size_t lead = x.shape().size() - shape.size();
  for (size_t i = 0; i < x.shape().size(); ++i)
    if (i < lead || (shape[i - lead] == 1 && x.shape()[i] != 1)) axes.push_back(static_cast<int64_t>(i));
  Tensor y = axes.empty() ? x : sum(x, axes, true);
  return y.shape() == shape ? y : reshape(y, shape);
}

Tensor to(const Tensor& x, DType dtype) {
  static const Op op{"cast"};
  return x.dtype() == dtype ? x : op({x}, {dtype});
}
Tensor clone(const Tensor& x) {
  static const Op op{"clone"};
  return op({x});
}
Tensor contiguous(const Tensor& x) { return x.contiguous() ? x : clone(x); }

Tensor reshape(const Tensor& x, Dims shape) {
  static const Op op{"reshape"};
  return op({x}, {std::move(shape)});
}
Tensor permute(const Tensor& x, Dims axes) {
  static const Op op{"permute"};
  return op({x}, {std::move(axes)});
}
Tensor transpose(const Tensor& x, int64_t a, int64_t b) {
  static const Op op{"transpose"};
  return op({x}, {a, b});
}
Tensor mT(const Tensor& x) { return transpose(x, -2, -1); }
Tensor expand(const Tensor& x, Dims shape) {
  static const Op op{"expand"};
  return x.shape() == shape ? x : op({x}, {std::move(shape)});
}
Tensor unsqueeze(const Tensor& x, int64_t dim) {
  static const Op op{"unsqueeze"};
  return op({x}, {dim});
}
Tensor squeeze(const Tensor& x, int64_t dim) {
  static const Op op{"squeeze"};
  return op({x}, {Dims{dim}});
}
Tensor narrow(const Tensor& x, int64_t dim, int64_t start, int64_t length) {
  static const Op op{"narrow"};
  return op({x}, {dim, start, length});
}
Tensor cat(std::span<const Tensor> tensors, int64_t dim) {
  static const Op op{"cat"};
  return op(tensors, {dim});
}
Tensor flip(const Tensor& x, Dims dims) {
  static const Op op{"flip"};
  return op({x}, {std::move(dims)});
}
Tensor matmul(const Tensor& a, const Tensor& b) {
  static const Op op{"matmul"};
  return op({a, b});
}

Tensor full(Dims shape, Scalar value, DType dtype) {
  static const Op op{"full"};
  return op({}, {std::move(shape), value, dtype});
}
Tensor zeros(Dims shape, DType dtype) { return full(std::move(shape), Scalar(0), dtype); }
Tensor ones(Dims shape, DType dtype) { return full(std::move(shape), Scalar(1), dtype); }
Tensor zeros_like(const Tensor& x) { return zeros(x.shape(), x.dtype()); }

}  // namespace hw
