// Sequences of numbers: arange, linspace, the indices of triangles, and _repeat_index.
#include <algorithm>

#include "core/visit.h"
#include "kernels/kernel.h"
#include "kernels/loops/convert_value.h"
#include "kernels/loops/each.h"

namespace hw {

namespace {

class Arange final : public Kernel {
 public:
  explicit Arange(const KernelRequest& r) : y_(r.outputs[0]), step_(r.attrs[2].scalar()) {
    start_ = r.attrs[1].none() ? Scalar(0) : r.attrs[0].scalar();
    whole_ = start_.kind() != Scalar::Kind::Float && step_.kind() != Scalar::Kind::Float;
  }
  void run(const KernelArgs& args) const override {
    const int64_t n = y_.numel(), stride = y_.shape[0] > 1 ? strides_of(y_)[0] : 1;
    visit_dtype(y_.dtype, [&]<class T>(Type<T>) {
      T* y = static_cast<T*>(args.outputs[0]);
      if (!whole_) {
        const double start = start_.f64(), step = step_.f64();
        for (int64_t i = 0; i < n; ++i) y[i * stride] = convert_value<T>(start + static_cast<double>(i) * step);
        return;
      }
      const int64_t start = start_.i64(), step = step_.i64();
      if (stride == 1)
        for (int64_t i = 0; i < n; ++i) y[i] = convert_value<T>(start + i * step);
      else
        for (int64_t i = 0; i < n; ++i) y[i * stride] = convert_value<T>(start + i * step);
    });
  }

 private:
  TensorSpec y_;
  Scalar start_, step_;
  bool whole_;
};

class Linspace final : public Kernel {
 public:
  explicit Linspace(const KernelRequest& r) : y_(r.outputs[0]), start_(r.attrs[0].f64()), end_(r.attrs[1].f64()) {}
  void run(const KernelArgs& args) const override {
    const int64_t n = y_.numel(), stride = n > 1 ? strides_of(y_)[0] : 1;
    const double step = n > 1 ? (end_ - start_) / static_cast<double>(n - 1) : 0;
    visit_dtype(y_.dtype, [&]<class T>(Type<T>) {
      T* y = static_cast<T*>(args.outputs[0]);
      // From both ends, so that both are exact.
      for (int64_t i = 0; i < n; ++i)
        y[i * stride] = convert_value<T>(i < n / 2 || n == 1 ? start_ + step * static_cast<double>(i)
                                                             : end_ - step * static_cast<double>(n - 1 - i));
    });
  }

 private:
  TensorSpec y_;
  double start_, end_;
};

class TriangleIndices final : public Kernel {
 public:
  TriangleIndices(const KernelRequest& r, bool lower)
      : y_(r.outputs[0]),
        rows_(r.attrs[0].i64()),
        columns_(r.attrs[1].i64()),
        offset_(std::clamp<int64_t>(r.attrs[2].i64(), -(int64_t{1} << 60), int64_t{1} << 60)),
        lower_(lower) {}
  void run(const KernelArgs& args) const override {
    const Dims strides = strides_of(y_);
    auto fill = [&]<class T>(Type<T>) {
      T* y = static_cast<T*>(args.outputs[0]);
      int64_t at = 0;
      const int64_t count = y_.shape[1];
      // From the first row that has elements until all are written.
      for (int64_t row = lower_ ? std::clamp<int64_t>(-offset_, 0, rows_) : 0; at < count; ++row) {
        const int64_t edge = std::clamp<int64_t>(row + offset_ + (lower_ ? 1 : 0), 0, columns_);
        for (int64_t column = lower_ ? 0 : edge; column < (lower_ ? edge : columns_); ++column, ++at) {
          y[at * strides[1]] = static_cast<T>(row);
          y[strides[0] + at * strides[1]] = static_cast<T>(column);
        }
      }
    };
    if (y_.dtype == DType::I32)
      fill(Type<int32_t>{});
    else
      fill(Type<int64_t>{});
  }

 private:
  TensorSpec y_;
  int64_t rows_, columns_, offset_;
  bool lower_;
};

class RepeatIndex final : public Kernel {
 public:
  explicit RepeatIndex(const KernelRequest& r)
      : n_(r.inputs[0].numel()),
        total_(r.outputs[0].numel()),
        x_(n_ > 1 ? strides_of(r.inputs[0])[0] : 1),
        y_(total_ > 1 ? strides_of(r.outputs[0])[0] : 1) {}
  void run(const KernelArgs& args) const override {
    const int64_t* count = static_cast<const int64_t*>(args.inputs[0]);
    int64_t* y = static_cast<int64_t*>(args.outputs[0]);
    int64_t at = 0;
    for (int64_t i = 0; i < n_; ++i) {
      if (count[i * x_] < 0)
        return args.status->report("RuntimeError: repeats cannot be negative, got %ld",
                                   static_cast<long>(count[i * x_]));
      if (count[i * x_] > total_ - at)
        return args.status->report("RuntimeError: the repeats add up to more than %ld", static_cast<long>(total_));
      for (int64_t k = 0; k < count[i * x_]; ++k) y[at++ * y_] = i;
    }
    if (at < total_)
      args.status->report("RuntimeError: the repeats add up to %ld, not %ld", static_cast<long>(at),
                          static_cast<long>(total_));
  }

 private:
  int64_t n_, total_, x_, y_;
};

std::unique_ptr<Kernel> prepare_arange(const KernelRequest& r, std::string&) { return std::make_unique<Arange>(r); }
std::unique_ptr<Kernel> prepare_linspace(const KernelRequest& r, std::string&) { return std::make_unique<Linspace>(r); }
std::unique_ptr<Kernel> prepare_tril(const KernelRequest& r, std::string&) {
  return std::make_unique<TriangleIndices>(r, true);
}
std::unique_ptr<Kernel> prepare_triu(const KernelRequest& r, std::string&) {
  return std::make_unique<TriangleIndices>(r, false);
}
std::unique_ptr<Kernel> prepare_repeat(const KernelRequest& r, std::string&) {
  return std::make_unique<RepeatIndex>(r);
}

const RegisterKernel arange({"arange", "reference", DeviceType::CPU, kReferencePriority, &prepare_arange});
const RegisterKernel linspace({"linspace", "reference", DeviceType::CPU, kReferencePriority, &prepare_linspace});
const RegisterKernel tril({"tril_indices", "reference", DeviceType::CPU, kReferencePriority, &prepare_tril});
const RegisterKernel triu({"triu_indices", "reference", DeviceType::CPU, kReferencePriority, &prepare_triu});
const RegisterKernel repeat({"_repeat_index", "reference", DeviceType::CPU, kReferencePriority, &prepare_repeat});

}  // namespace
}  // namespace hw
