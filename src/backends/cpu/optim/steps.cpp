// Optimiser steps on the CPU: one pass over parameter, gradient and states, in pieces on the thread team.
#include <cstring>
#include <vector>

#include "backends/cpu/optim/rows.h"
#include "base/thread_team.h"
#include "kernels/loops/convert.h"
#include "kernels/loops/each.h"
#include "kernels/optim/formulas.h"

namespace hw {

namespace {

constexpr int64_t kGrain = 1 << 15;
constexpr int64_t kStage = 1024;  // elements of 16 bits that are widened at a time
constexpr size_t kMost = 4;       // parameter and three states

/// What is written decides the layout; what is read may have other strides, as a rank's slice of a tensor that it holds whole.
bool dense_outputs(const KernelRequest& r) {
  const TensorSpec& param = r.outputs[0];
  int64_t reach = 1;
  for (size_t a = 0; a < param.shape.size(); ++a) reach += (param.shape[a] - 1) * param.strides[a];
  if (param.numel() != 0 && (reach != param.numel() || !is_non_overlapping(param.shape, param.strides))) return false;
  for (const TensorSpec& s : r.outputs)
    if (!(s.strides == param.strides) || s.dtype != param.dtype) return false;
  return true;
}

/// Copies what has the strides of `from` to memory with others: by rows where the last axis is dense in both.
void copy_strided(const TensorSpec& from, const Dims& strides, const void* source, void* target) {
  const auto size = static_cast<size_t>(dtype_size(from.dtype));
  Dims shape = from.shape;
  size_t row = size;
  if (!shape.empty() && from.strides.back() == 1 && strides.back() == 1) {
    row *= static_cast<size_t>(shape.back());
    shape.back() = 1;
  }
  each<2>(shape, {from.strides, strides}, [&](int64_t a, int64_t b) {
    std::memcpy(static_cast<char*>(target) + static_cast<size_t>(b) * size,
                static_cast<const char*>(source) + static_cast<size_t>(a) * size, row);
  });
}

/// Parameter and states of a launch. Outputs that are not the inputs themselves are filled first.
class Step : public Kernel {
 public:
  explicit Step(const KernelRequest& r)
      : dtype_(r.inputs[0].dtype), compute_(dtype_ == DType::F64 ? DType::F64 : DType::F32) {
    count_ = r.inputs[0].numel();
    layout_ = strides_of(r.outputs[0]);
    if (!(strides_of(r.inputs[1]) == layout_))
      grad_bytes_ = (static_cast<size_t>(count_ * dtype_size(r.inputs[1].dtype)) + 63) / 64 * 64;
    specs_.assign(r.inputs.begin(), r.inputs.end());
    for (TensorSpec& s : specs_)
      if (s.given()) s.strides = strides_of(s);
    for (size_t i = 0; i < r.inputs.size(); ++i)
      if (r.inputs[i].given() && i != 1) inputs_[written_++] = i;
    if (is_reduced(dtype_)) {
      widen_ = find_convert_row(dtype_, compute_);
      narrow_ = find_convert_row(compute_, dtype_);
    }
  }

 protected:
  void fill_outputs(const KernelArgs& args) const {
    for (size_t i = 0; i < written_; ++i) {
      const TensorSpec& spec = specs_[inputs_[i]];
      if (args.outputs[i] == args.inputs[inputs_[i]]) continue;
      if (spec.strides == layout_)
        std::memcpy(args.outputs[i], args.inputs[inputs_[i]], static_cast<size_t>(count_ * dtype_size(dtype_)));
      else
        copy_strided(spec, layout_, args.inputs[inputs_[i]], args.outputs[i]);
    }
  }
  /// The gradient in the layout of the outputs: its own memory, or the first `grad_bytes_` of the scratch.
  const void* gradient(const KernelArgs& args) const {
    if (!grad_bytes_) return args.inputs[1];
    copy_strided(specs_[1], layout_, args.inputs[1], args.scratch);
    return args.scratch;
  }
  char* at(void* base, int64_t k) const { return static_cast<char*>(base) + k * dtype_size(dtype_); }
  const char* at(const void* base, int64_t k) const { return static_cast<const char*>(base) + k * dtype_size(dtype_); }

  /// work(written, grad, n) on [begin, end): directly, or on widened copies of 16-bit values, written back if `store`.
  template <class Work>
  void rows(const KernelArgs& args, const void* grad, int64_t begin, int64_t end, Work&& work) const {
    void* written[kMost];
    if (!widen_) {
      for (size_t i = 0; i < written_; ++i) written[i] = at(args.outputs[i], begin);
      work(written, at(grad, begin), end - begin);
      return;
    }
    alignas(64) float wide[kMost + 1][kStage];
    for (size_t i = 0; i < written_; ++i) written[i] = wide[i];
    for (int64_t k = begin; k < end; k += kStage) {
      int64_t n = end - k < kStage ? end - k : kStage;
      for (size_t i = 0; i < written_; ++i) widen_(at(args.outputs[i], k), wide[i], n);
      widen_(at(grad, k), wide[kMost], n);
      work(written, wide[kMost], n);
      for (size_t i = 0; i < written_; ++i) narrow_(wide[i], at(args.outputs[i], k), n);
    }
  }

  DType dtype_, compute_;
  int64_t count_ = 0;
  Dims layout_;
  std::vector<TensorSpec> specs_;
  size_t grad_bytes_ = 0;
  size_t inputs_[kMost] = {}, written_ = 0;
  ConvertRowFn widen_ = nullptr, narrow_ = nullptr;
};

class PlainStep final : public Step {
 public:
  explicit PlainStep(const KernelRequest& r) : Step(r), rows_(find_step_rows(r, compute_)) {}
  size_t scratch_bytes() const override { return grad_bytes_; }
  void run(const KernelArgs& args) const override {
    fill_outputs(args);
    const void* dense = gradient(args);
    parallel_for(count_, kGrain, [&](int64_t begin, int64_t end) {
      rows(args, dense, begin, end, [&](void* const* written, const void* grad, int64_t n) {
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
  size_t scratch_bytes() const override {
    return grad_bytes_ + static_cast<size_t>(count_ / kGrain + 1) * 2 * sizeof(double);
  }
  void run(const KernelArgs& args) const override {
    fill_outputs(args);
    const void* dense = gradient(args);
    auto* norms = reinterpret_cast<double*>(static_cast<char*>(args.scratch) + grad_bytes_);
    int64_t pieces = parallel_pieces(count_, kGrain);
    for (int64_t i = 0; i < 2 * pieces; ++i) norms[i] = 0;
    parallel_for(count_, kGrain, [&](int64_t begin, int64_t end) {
      double* mine = norms + 2 * (begin / ((count_ + pieces - 1) / pieces));
      rows(args, dense, begin, end, [&](void* const* written, const void* grad, int64_t n) {
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
      rows(args, dense, begin, end, [&](void* const* written, const void*, int64_t n) {
        apply_(*args.attrs, written[0], written[1], written[2], n, rate);
      });
    });
  }

 private:
  LambMomentsFn moments_;
  LambApplyFn apply_;
};

std::unique_ptr<Kernel> prepare(const KernelRequest& r, std::string& why_not) {
  if (!dense_outputs(r)) {
    why_not = "needs a new parameter and states of the same dense layout";
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
