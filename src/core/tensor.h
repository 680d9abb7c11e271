// Tensor: a handle to shape, strides, dtype and a piece of shared storage.
#pragma once

#include <complex>
#include <memory>

#include "base/ref.h"
#include "core/scalar.h"
#include "core/spec.h"

namespace hw {

/// Bytes shared by all views of them. The version counts in-place writes; the tape uses it to refuse stale values.
class Storage : public RefCounted {
 public:
  explicit Storage(size_t bytes);  // from the allocator
  using Deleter = void (*)(void* context);
  /// Memory owned by somebody else; `deleter(context)` runs when the last tensor lets go.
  Storage(void* data, size_t bytes, Deleter deleter, void* context, bool writable = true)
      : data_(data), bytes_(bytes), deleter_(deleter), context_(context), writable_(writable) {}
  ~Storage() override;

  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  bool writable() const { return writable_; }
  uint32_t version() const { return version_; }
  void bump_version() { ++version_; }
  /// For writes that were only written down, and then given up.
  void restore_version(uint32_t version) { version_ = version; }
  /// Whether others can write here without a new version: the memory is theirs, or they were given its address.
  bool shared_outside() const { return deleter_ || lent_; }
  void lend() { ++lent_; }
  void take_back() { --lent_; }
  void swap(Storage& other) noexcept;

 private:
  void* data_ = nullptr;
  size_t bytes_ = 0;
  Deleter deleter_ = nullptr;
  void* context_ = nullptr;
  uint32_t version_ = 0, lent_ = 0;
  bool writable_ = true;
};

class Tensor;

/// What autograd hangs on a tensor; defined in autograd/.
struct AutogradMeta {
  virtual ~AutogradMeta() = default;
};

/// What makes a tensor global: its mesh, its split, and the parts that this process holds; defined in eager/.
struct GlobalMeta : RefCounted {};

/// What a language binding hangs on a tensor: a weak pointer to its wrapper.
struct TensorBody final : RefCounted {
  Ref<Storage> storage;
  int64_t offset = 0;  // in elements
  int64_t numel = 0;
  DType dtype = DType::None;
  bool contiguous = true;
  bool wrapped = false;    // made of a Python number
  bool inference = false;  // made in inference mode: must not be saved for a backward pass
  Device device;
  Dims shape, strides;
  std::unique_ptr<AutogradMeta> autograd;
  Ref<GlobalMeta> global;  // null for a tensor of one device
  void* wrapper = nullptr;
};

class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(Ref<TensorBody> body) : body_(std::move(body)) {}
  /// A new tensor over storage; `strides` empty means contiguous.
  static Tensor make(Ref<Storage> storage, DType dtype, Dims shape, Dims strides = {}, int64_t offset = 0);
  /// Uninitialised memory.
  static Tensor empty(std::span<const int64_t> shape, DType dtype);
  static Tensor empty_strided(std::span<const int64_t> shape, std::span<const int64_t> strides, DType dtype);
  /// For specs that the rules made: strides of a dense layout, sizes checked.
  static Tensor empty_strided_unchecked(const TensorSpec& spec);
  /// A 0-d tensor with one value. `wrapped`: as a Python number, which gives way in type promotion.
  static Tensor scalar(const Scalar& value, DType dtype, bool wrapped = false);
  /// Another handle on the same storage, without autograd state.
  Tensor alias() const;
  Tensor alias(Dims shape, Dims strides, int64_t offset) const;

  bool defined() const { return static_cast<bool>(body_); }
  explicit operator bool() const { return defined(); }
  TensorBody* body() const { return body_.get(); }
  TensorBody* operator->() const { return body_.get(); }
  DType dtype() const { return body_->dtype; }
  const Dims& shape() const { return body_->shape; }
  const Dims& strides() const { return body_->strides; }
  int64_t ndim() const { return static_cast<int64_t>(body_->shape.size()); }
  int64_t size(int64_t axis) const { return body_->shape[normalize_axis(axis, ndim())]; }
  int64_t numel() const { return body_->numel; }
  int64_t offset() const { return body_->offset; }
  bool contiguous() const { return body_->contiguous; }
  Device device() const { return body_->device; }
  size_t nbytes() const { return static_cast<size_t>(numel() * dtype_size(dtype())); }
  uint32_t version() const { return body_->storage->version(); }
  void* data() const {
    auto* base = static_cast<char*>(body_->storage->data());
    return base ? base + body_->offset * dtype_size(body_->dtype) : nullptr;
  }
  template <class T>
  T* data_as() const {
    return static_cast<T*>(data());
  }
  TensorSpec spec() const;
  /// The value of a tensor with one element; throws otherwise.
  Scalar item() const;
  bool operator==(const Tensor& o) const { return body_ == o.body_; }  // the same tensor, not equal values

 private:
  Ref<TensorBody> body_;
};

Scalar load_scalar(const void* p, DType dtype);
void store_scalar(void* p, DType dtype, const Scalar& value);

void append_text(std::string& out, const Tensor& t);  // "f32[2, 3]"

}  // namespace hw
