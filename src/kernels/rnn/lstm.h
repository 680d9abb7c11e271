// What _lstm_layer and _lstm_layer_grad ask of a kernel, and their inputs as contiguous arrays.
#pragma once

#include <vector>

#include "kernels/kernel.h"

namespace hw {

/// Sizes, and inputs that lie contiguously: where they are, or as copies in the kernel's scratch memory.
class LstmRequest {
 public:
  /// Returns false with the reason for dtypes nobody serves.
  bool read(const KernelRequest& request, std::string& why_not);

  size_t copy_bytes() const { return copy_bytes_; }  // scratch for copies, a multiple of 64
  void copy_inputs(const KernelArgs& args) const;    // into the start of the scratch memory
  template <class T>
  const T* input(const KernelArgs& args, size_t i) const {
    const void* p = offsets_[i] == kInPlace ? args.inputs[i] : static_cast<const char*>(args.scratch) + offsets_[i];
    return static_cast<const T*>(p);
  }
  /// The step that comes i-th.
  int64_t step(int64_t i) const { return reverse ? steps - 1 - i : i; }

  int64_t steps = 0, batch = 0, hidden = 0;
  bool reverse = false;
  DType dtype = DType::F32;

 private:
  static constexpr size_t kInPlace = ~size_t{0};
  std::vector<TensorSpec> inputs_;
  std::vector<size_t> offsets_;
  size_t copy_bytes_ = 0;
};

}  // namespace hw
