// Tensor bodies and storage.
#include "core/tensor.h"

#include <utility>

#include "base/error.h"
#include "core/allocator.h"
#include "core/read_guard.h"
#include "core/visit.h"

namespace hw {

Storage::Storage(size_t bytes) : data_(allocate(bytes)), bytes_(bytes) {}

Storage::~Storage() {
  if (deleter_)
    deleter_(context_);
  else
    deallocate(data_, bytes_);
}

void Storage::swap(Storage& o) noexcept {
  std::swap(data_, o.data_);
  std::swap(bytes_, o.bytes_);
  std::swap(deleter_, o.deleter_);
  std::swap(context_, o.context_);
  std::swap(writable_, o.writable_);
}

Tensor Tensor::make(Ref<Storage> storage, DType dtype, Dims shape, Dims strides, int64_t offset) {
  auto body = make_ref<TensorBody>();
  body->storage = std::move(storage);
  body->offset = offset;
  body->dtype = dtype;
  body->numel = hw::numel(shape);
  if (strides.size() != shape.size()) {
    strides = contiguous_strides(shape);
  } else {
    body->contiguous = is_contiguous(shape, strides);
  }
  body->shape = std::move(shape);
  body->strides = std::move(strides);
  return Tensor(std::move(body));
}

static size_t checked_bytes(std::span<const int64_t> shape, DType dtype) {
  check(static_cast<int64_t>(shape.size()) <= kMaxDims, "a tensor has at most ", kMaxDims, " dimensions, got ",
        static_cast<int64_t>(shape.size()));
  for (int64_t size : shape) check_runtime(size >= 0, "a size cannot be negative, got shape ", Dims(shape));
  int64_t bytes = 0;
  check(!__builtin_mul_overflow(numel(shape), dtype_size(dtype), &bytes), "shape ", Dims(shape), " of ", dtype,
        " exceeds 2^63 - 1 bytes");
  return static_cast<size_t>(bytes);
}

Tensor Tensor::empty(std::span<const int64_t> shape, DType dtype) {
  return make(make_ref<Storage>(checked_bytes(shape, dtype)), dtype, Dims(shape));
}

Tensor Tensor::empty_strided(std::span<const int64_t> shape, std::span<const int64_t> strides, DType dtype) {
  check(shape.size() == strides.size(), "shape ", Dims(shape), " and strides ", Dims(strides), " differ in length");
  int64_t n = 1, span = 0;
  for (size_t i = 0; i < shape.size(); ++i) {
    check(strides[i] >= 0, "strides cannot be negative, got ", Dims(strides));
    n *= shape[i] != 0;
    check(!__builtin_mul_overflow(strides[i], std::max<int64_t>(shape[i] - 1, 0), &span) &&
              !__builtin_add_overflow(n, span, &n),
          "strides ", Dims(strides), " reach beyond 2^63 - 1 elements");
  }
  for (int64_t s : shape) n = s == 0 ? 0 : n;
  int64_t one[1] = {n};
  return make(make_ref<Storage>(checked_bytes(one, dtype)), dtype, Dims(shape), Dims(strides));
}

Tensor Tensor::empty_strided_unchecked(const TensorSpec& spec) {
  auto body = make_ref<TensorBody>();
  body->numel = hw::numel(spec.shape);
  body->contiguous = is_contiguous(spec.shape, spec.strides);
  int64_t bytes = 0, elements = body->numel;
  if (!body->contiguous && elements > 0) {  // a layout may have gaps
    elements = 1;
    for (size_t i = 0; i < spec.shape.size(); ++i) elements += (spec.shape[i] - 1) * spec.strides[i];
  }
  check(!__builtin_mul_overflow(elements, dtype_size(spec.dtype), &bytes), spec, " exceeds 2^63 - 1 bytes");
  body->storage = make_ref<Storage>(static_cast<size_t>(bytes));
  body->dtype = spec.dtype;
  body->device = spec.device;
  body->shape = spec.shape;
  body->strides = spec.strides;
  return Tensor(std::move(body));
}

Tensor Tensor::scalar(const Scalar& value, DType dtype, bool wrapped) {
  Tensor t = make(make_ref<Storage>(static_cast<size_t>(dtype_size(dtype))), dtype, {});
  store_scalar(t.data(), dtype, value);
  t->wrapped = wrapped;
  return t;
}

Tensor Tensor::alias() const {
  Tensor t = make(body_->storage, body_->dtype, shape(), strides(), offset());
  t->device = body_->device;
  t->inference = body_->inference;
  t->global = body_->global;
  return t;
}

Tensor Tensor::alias(Dims shape, Dims strides, int64_t offset) const {
  Tensor t = make(body_->storage, body_->dtype, std::move(shape), std::move(strides), offset);
  t->device = body_->device;
  t->inference = body_->inference;
  return t;
}

TensorSpec Tensor::spec() const { return {body_->dtype, body_->wrapped, body_->device, body_->shape, body_->strides}; }

Scalar Tensor::item() const {
  check_runtime(numel() == 1, "item: a tensor of shape ", shape(), " has ", numel(),
                " elements; only one element converts to a Python number");
  if (body_->global) [[unlikely]]
    if (WholeOf whole = whole_of_global()) return whole(*this).item();
  check_readable(*this, "item()");
  return load_scalar(data(), dtype());
}

Scalar load_scalar(const void* p, DType dtype) {
  return visit_dtype(dtype, [&]<class T>(Type<T>) {
    T v = *static_cast<const T*>(p);
    if constexpr (std::is_same_v<T, bool>)
      return Scalar(v);
    else if constexpr (std::is_integral_v<T>)
      return Scalar(static_cast<int64_t>(v));
    else if constexpr (std::is_convertible_v<T, double>)
      return Scalar(static_cast<double>(v));
    else
      return Scalar(std::complex<double>(v));
  });
}

void store_scalar(void* p, DType dtype, const Scalar& s) {
  visit_dtype(dtype, [&]<class T>(Type<T>) {
    T& v = *static_cast<T*>(p);
    if constexpr (std::is_same_v<T, bool>)
      v = s.truth();
    else if constexpr (std::is_integral_v<T>)
      v = static_cast<T>(s.i64());
    else if constexpr (std::is_convertible_v<T, double>)
      v = T(static_cast<std::conditional_t<std::is_same_v<T, double>, double, float>>(
          s.kind() == Scalar::Kind::Int ? static_cast<double>(s.i64()) : s.f64()));
    else
      v = T(s.c128());
  });
}

void append_text(std::string& out, const Tensor& t) {
  if (!t.defined()) return out.append("None"), void();
  append_text(out, t.dtype());
  append_text(out, t.shape());
}

}  // namespace hw
