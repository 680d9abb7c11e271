// Optimiser steps on the CPU: one pass over parameter, gradient and states, in pieces on the thread team.
#include <cstring>

#include "backends/cpu/optim/rows.h"
#include "base/thread_team.h"
#include "kernels/loops/convert.h"
#include "kernels/optim/formulas.h"

namespace hw {

namespace {

constexpr int64_t kGrain = 1 << 15;
constexpr int64_t kStage = 1024;  // elements of 16 bits that are widened at a time
constexpr size_t kMost = 4;       // parameter and three states

bool same_dense_layout(const KernelRequest& r) {
  const TensorSpec& param = r.inputs[0];
  int64_t reach = 1;
  for (size_t a = 0; a < param.shape.size(); ++a) reach += (param.shape[a] - 1) * param.strides[a];
  if (param.numel() != 0 && (reach != param.numel() || !is_non_overlapping(param.shape, param.strides))) return false;
  for (const TensorSpec& s : r.inputs)
    if (s.given() && !(s.strides == param.strides)) return false;
  for (const TensorSpec& s : r.outputs)
    if (!(s.strides == param.strides) || s.dtype != param.dtype) return false;
  return true;
}

/// Parameter and states of a launch. Outputs that are not the inputs themselves are filled first.
class Step : public Kernel {
 public:
  explicit Step(const KernelRequest& r)
      : dtype_(r.inputs[0].dtype), compute_(dtype_ == DType::F64 ? DType::F64 : DType::F32) {
    count_ = r.inputs[0].numel();
    for (size_t i = 0; i < r.inputs.size(); ++i)
      if (r.inputs[i].given() && i != 1) inputs_[written_++] = i;
    if (is_reduced(dtype_)) {
      widen_ = find_convert_row(dtype_, compute_);
      narrow_ = find_convert_row(compute_, dtype_);
    }
  }

 protected:
  void fill_outputs(const KernelArgs& args) const {
    for (size_t i = 0; i < written_; ++i)
      if (args.outputs[i] != args.inputs[inputs_[i]])
        std::memcpy(args.outputs[i], args.inputs[inputs_[i]], static_cast<size_t>(count_ * dtype_size(dtype_)));
  }
  char* at(void* base, int64_t k) const { return static_cast<char*>(base) + k * dtype_size(dtype_); }
  const char* at(const void* base, int64_t k) const { return static_cast<const char*>(base) + k * dtype_size(dtype_); }

  /// work(written, grad, n) on [begin, end): directly, or on widened copies of 16-bit values, written back if `store`.
  template <class Work>
  void rows(const KernelArgs& args, int64_t begin, int64_t end, Work&& work) const {
    void* written[kMost];
    if (!widen_) {
      for (size_t i = 0; i < written_; ++i) written[i] = at(args.outputs[i], begin);
      work(written, at(args.inputs[1], begin), end - begin);
      return;
    }
    alignas(64) float wide[kMost + 1][kStage];
    for (size_t i = 0; i < written_; ++i) written[i] = wide[i];
    for (int64_t k = begin; k < end; k += kStage) {
      int64_t n = end - k < kStage ? end - k : kStage;
      for (size_t i = 0; i < written_; ++i) widen_(at(args.outputs[i], k), wide[i], n);
      widen_(at(args.inputs[1], k), wide[kMost], n);
      work(written, wide[kMost], n);
      for (size_t i = 0; i < written_; ++i) narrow_(wide[i], at(args.outputs[i], k), n);
    }
  }

  DType dtype_, compute_;
  int64_t count_ = 0;
  size_t inputs_[kMost] = {}, written_ = 0;
  ConvertRowFn widen_ = nullptr, narrow_ = nullptr;
};

class PlainStep final : public Step {
 public:
  explicit PlainStep(const KernelRequest& r) : Step(r), rows_(find_step_rows(r, compute_)) {}
  void run(const KernelArgs& args) const override {
    fill_outputs(args);
    parallel_for(count_, kGrain, [&](int64_t begin, int64_t end) {
      rows(args, begin, end, [&](void* const* written, const void* grad, int64_t n) {
        rows_(*args.attrs, written[0], grad, written + 1, n);
      });
    });
  }

 private:
  StepRowsFn rows_;
};

class LambStep final : public Step {
 public:
  explicit LambStep(const KernelRequest& r)
      : Step(r), moments_(find_lamb_moments(compute_)), apply_(find_lamb_apply(compute_)) {}
  // Pieces are counted when the kernel runs: the team may have changed since it was prepared.
  size_t scratch_bytes() const override { return static_cast<size_t>(count_ / kGrain + 1) * 2 * sizeof(double); }
  void run(const KernelArgs& args) const override {
    fill_outputs(args);
    auto* norms = static_cast<double*>(args.scratch);
    int64_t pieces = parallel_pieces(count_, kGrain);
    for (int64_t i = 0; i < 2 * pieces; ++i) norms[i] = 0;
    parallel_for(count_, kGrain, [&](int64_t begin, int64_t end) {
      double* mine = norms + 2 * (begin / ((count_ + pieces - 1) / pieces));
      rows(args, begin, end, [&](void* const* written, const void* grad, int64_t n) {
        moments_(*args.attrs, written[0], grad, written[1], written[2], n, mine);
      });
    });
    double param = 0, direction = 0;
    for (int64_t i = 0; i < pieces; ++i) {
      param += norms[2 * i];
      direction += norms[2 * i + 1];
    }
    double rate = (*args.attrs)[optim::Adam::lr].f64() * optim::lamb_ratio(param, direction);
    parallel_for(count_, kGrain, [&](int64_t begin, int64_t end) {
      rows(args, begin, end, [&](void* const* written, const void*, int64_t n) {
        apply_(*args.attrs, written[0], written[1], written[2], n, rate);
      });
    });
  }

 private:
  LambMomentsFn moments_;
  LambApplyFn apply_;
};

std::unique_ptr<Kernel> prepare(const KernelRequest& r, std::string& why_not) {
  if (!same_dense_layout(r)) {
    why_not = "needs parameter, gradient and states of the same dense layout";
    return nullptr;
  }
  if (r.op == "lamb_step") return std::make_unique<LambStep>(r);
  return std::make_unique<PlainStep>(r);
}

const RegisterKernel sgd({"sgd_step", "simd", DeviceType::CPU, 10, &prepare});
const RegisterKernel adam({"adam_step", "simd", DeviceType::CPU, 10, &prepare});
const RegisterKernel rmsprop({"rmsprop_step", "simd", DeviceType::CPU, 10, &prepare});
const RegisterKernel adagrad({"adagrad_step", "simd", DeviceType::CPU, 10, &prepare});
const RegisterKernel adadelta({"adadelta_step", "simd", DeviceType::CPU, 10, &prepare});
const RegisterKernel adamax({"adamax_step", "simd", DeviceType::CPU, 10, &prepare});
const RegisterKernel nadam({"nadam_step", "simd", DeviceType::CPU, 10, &prepare});
const RegisterKernel radam({"radam_step", "simd", DeviceType::CPU, 10, &prepare});
const RegisterKernel rprop({"rprop_step", "simd", DeviceType::CPU, 10, &prepare});
const RegisterKernel lamb({"lamb_step", "simd", DeviceType::CPU, 10, &prepare});

}  // namespace

}  // namespace hw
