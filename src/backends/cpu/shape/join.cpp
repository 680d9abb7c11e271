// cat, flip and the gradients of views through the copy kernel, which knows rows, tiles and threads.
#include <cstring>

#include "base/error.h"
#include "base/thread_team.h"
#include "kernels/index/view_grad.h"
#include "kernels/kernel.h"
#include "kernels/loops/each.h"

namespace hw {

namespace {

/// One copy from (part of) an input to part of the output.
struct Part {
  size_t input;
  int64_t from_offset, to_offset;  // bytes
  std::unique_ptr<Kernel> copy;
};

class Parts final : public Kernel {
 public:
  /// `clear`: bytes of the output to zero first.
  Parts(std::vector<Part> parts, int64_t clear) : parts_(std::move(parts)), clear_(clear) {}
  void run(const KernelArgs& args) const override {
    char* y = static_cast<char*>(args.outputs[0]);
    if (clear_)
      parallel_for(clear_, 1 << 18,
                   [&](int64_t begin, int64_t end) { std::memset(y + begin, 0, static_cast<size_t>(end - begin)); });
    for (const Part& p : parts_) {
      const void* from = static_cast<const char*>(args.inputs[p.input]) + p.from_offset;
      void* to = y + p.to_offset;
      p.copy->run({&from, &to, nullptr, args.attrs, args.status});
    }
  }

 private:
  std::vector<Part> parts_;
  int64_t clear_;
};

/// The copy kernel from one layout to another of the same shape; null if it is switched off.
std::unique_ptr<Kernel> copy_kernel(const TensorSpec& x, Dims from, DType dtype, Dims to) {
  TensorSpec in = x, out = x;
  in.strides = std::move(from);
  out.strides = std::move(to);
  out.dtype = dtype;
  static const Attrs none;
  try {
    return prepare_kernel({"copy", {&in, 1}, {&out, 1}, none, DType::None}, DeviceType::CPU);
  } catch (const Error&) {
    return nullptr;
  }
}

std::unique_ptr<Kernel> prepare_cat(const KernelRequest& r, std::string& why_not) {
  const TensorSpec& y = r.outputs[0];
  const Dims strides = strides_of(y);
  const size_t axis = static_cast<size_t>(normalize_axis(r.attrs[0].i64(), y.ndim()));
  std::vector<Part> parts;
  int64_t at = 0;
  for (size_t i = 0; i < r.inputs.size(); ++i) {
    const TensorSpec& x = r.inputs[i];
    if (x.numel() == 0) {
      if (x.ndim() == y.ndim()) at += x.shape[axis];
      continue;
    }
    parts.push_back({i, 0, at * strides[axis] * dtype_size(y.dtype), copy_kernel(x, strides_of(x), y.dtype, strides)});
    if (!parts.back().copy) {
      why_not = "the copy kernel is switched off";
      return nullptr;
    }
    at += x.shape[axis];
  }
  return std::make_unique<Parts>(std::move(parts), 0);
}

std::unique_ptr<Kernel> prepare_flip(const KernelRequest& r, std::string& why_not) {
  const TensorSpec &x = r.inputs[0], &y = r.outputs[0];
  std::vector<Part> parts;
  if (x.numel() > 0) {
    Dims from = strides_of(x);
    int64_t offset = 0;
    for (int64_t dim : r.attrs[0].ints()) {
      if (x.shape.empty()) break;
      const size_t a = static_cast<size_t>(normalize_axis(dim, x.ndim()));
      offset += (x.shape[a] - 1) * from[a];
      from[a] = -from[a];
    }
    parts.push_back({0, offset * dtype_size(x.dtype), 0, copy_kernel(x, std::move(from), y.dtype, strides_of(y))});
    if (!parts.back().copy) {
      why_not = "the copy kernel is switched off";
      return nullptr;
    }
  }
  return std::make_unique<Parts>(std::move(parts), 0);
}

std::unique_ptr<Kernel> prepare_view_grad(const KernelRequest& r, std::string& why_not) {
  ViewGradPlan plan;
  const TensorSpec &x = r.inputs[0], &y = r.outputs[0];
  if (!view_grad_plan(r, plan) || plan.overlaps || plan.room || !y.contiguous()) {
    why_not = "needs a contiguous output and a view without overlap";
    return nullptr;
  }
  std::vector<Part> parts;
  if (x.numel() > 0) {
    parts.push_back({0, 0, plan.offset * dtype_size(y.dtype), copy_kernel(x, strides_of(x), y.dtype, plan.strides)});
    if (!parts.back().copy) {
      why_not = "the copy kernel is switched off";
      return nullptr;
    }
  }
  int64_t bytes = 0;  // beyond 2^63 the output cannot be allocated
  (void)__builtin_mul_overflow(y.numel(), dtype_size(y.dtype), &bytes);
  return std::make_unique<Parts>(std::move(parts), x.numel() == y.numel() ? 0 : bytes);
}

const RegisterKernel cat({"cat", "cpu", DeviceType::CPU, 10, &prepare_cat});
const RegisterKernel flip({"flip", "cpu", DeviceType::CPU, 10, &prepare_flip});
const RegisterKernel slice_grad({"_slice_grad", "cpu", DeviceType::CPU, 10, &prepare_view_grad});
const RegisterKernel diagonal_grad({"_diagonal_grad", "cpu", DeviceType::CPU, 10, &prepare_view_grad});
const RegisterKernel unfold_grad({"_unfold_grad", "cpu", DeviceType::CPU, 10, &prepare_view_grad});
const RegisterKernel as_strided_grad({"_as_strided_grad", "cpu", DeviceType::CPU, 10, &prepare_view_grad});

}  // namespace
}  // namespace hw
