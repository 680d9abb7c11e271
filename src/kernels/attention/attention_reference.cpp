// Reference attention and its gradient: one row of scores after the other, in double.
#include <cmath>
#include <limits>

#include "core/visit.h"
#include "kernels/attention/request.h"

namespace hw {
namespace {

template <class T>
struct View4 {
  T* data;
  int64_t s[4];
  View4(T* p, const TensorSpec& spec) : data(p) {
    for (int i = 0; i < 4; ++i) s[i] = spec.strides[i];
  }
  T& at(int64_t a, int64_t b, int64_t c, int64_t d) const { return data[a * s[0] + b * s[1] + c * s[2] + d * s[3]]; }
};

template <class T>
T round_to(double value) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
    return T(static_cast<float>(value));
  else
    return static_cast<T>(value);
}

/// What is added to a score: 0 or -infinity for a bool mask.
double mask_value(const AttentionRequest& r, const void* mask, int64_t b, int64_t h, int64_t i, int64_t j) {
  if (!mask) return 0;
  int64_t at = b * r.mask.strides[0] + h * r.mask.strides[1] + i * r.mask.strides[2] + j * r.mask.strides[3];
  if (r.mask.dtype == DType::Bool)
    return static_cast<const bool*>(mask)[at] ? 0 : -std::numeric_limits<double>::infinity();
  return visit_floating(r.mask.dtype,
                        [&]<class M>(Type<M>) { return static_cast<double>(static_cast<const M*>(mask)[at]); });
}

/// The probabilities of row i into p; returns the log of the sum of exponentials.
template <class T>
double probabilities(const AttentionRequest& r, const View4<const T>& q, const View4<const T>& k, const void* mask,
                     int64_t b, int64_t h, int64_t i, double* p) {
  int64_t n = r.visible(i);
  double top = -std::numeric_limits<double>::infinity();
  for (int64_t j = 0; j < n; ++j) {
    double score = 0;
    for (int64_t e = 0; e < r.width; ++e)
      score += static_cast<double>(q.at(b, h, i, e)) * static_cast<double>(k.at(b, h / r.group(), j, e));
    p[j] = score * r.scale + mask_value(r, mask, b, h, i, j);
    top = std::max(top, p[j]);
  }
  if (std::isinf(top) && top < 0) {  // no column is visible: the row is zero
    std::fill(p, p + n, r.nan_rows ? std::numeric_limits<double>::quiet_NaN() : 0.0);
    return top;
  }
  double sum = 0;
  for (int64_t j = 0; j < n; ++j) sum += p[j] = std::exp(p[j] - top);
  for (int64_t j = 0; j < n; ++j) p[j] /= sum;
  return top + std::log(sum);
}

template <class T>
class ReferenceAttention final : public Kernel {
 public:
  ReferenceAttention(AttentionRequest r, const TensorSpec& y, const TensorSpec& lse)
      : r_(std::move(r)), y_(y), wide_(lse.dtype) {}
  size_t scratch_bytes() const override { return static_cast<size_t>(r_.columns) * sizeof(double); }
  void run(const KernelArgs& args) const override {
    View4<const T> q(static_cast<const T*>(args.inputs[0]), r_.q), k(static_cast<const T*>(args.inputs[1]), r_.k);
    View4<const T> v(static_cast<const T*>(args.inputs[2]), r_.v);
    View4<T> y(static_cast<T*>(args.outputs[0]), y_);
    auto* p = static_cast<double*>(args.scratch);
    for (int64_t b = 0; b < r_.batch; ++b)
      for (int64_t h = 0; h < r_.heads; ++h)
        for (int64_t i = 0; i < r_.rows; ++i) {
          double lse = probabilities<T>(r_, q, k, r_.mask.given() ? args.inputs[3] : nullptr, b, h, i, p);
          int64_t at = (b * r_.heads + h) * r_.rows + i;
          if (wide_ == DType::F64)
            static_cast<double*>(args.outputs[1])[at] = lse;
          else
            static_cast<float*>(args.outputs[1])[at] = static_cast<float>(lse);
          for (int64_t e = 0; e < r_.value_width; ++e) {
            double sum = 0;
            for (int64_t j = 0; j < r_.visible(i); ++j)
              sum += p[j] * static_cast<double>(v.at(b, h / r_.group(), j, e));
            y.at(b, h, i, e) = round_to<T>(sum);
          }
        }
  }

 private:
  AttentionRequest r_;
  TensorSpec y_;
  DType wide_;
};

/// Sums of the three gradients in double, rounded at the end.
template <class T>
class ReferenceAttentionGrad final : public Kernel {
 public:
  ReferenceAttentionGrad(AttentionRequest r, const KernelRequest& request)
      : r_(std::move(r)), dy_(request.inputs[0]), outputs_(request.outputs.begin(), request.outputs.end()) {}
  size_t scratch_bytes() const override {
    return static_cast<size_t>(2 * r_.columns + r_.q.numel() + r_.k.numel() + r_.v.numel()) * 8;
  }
  void run(const KernelArgs& args) const override {
    auto* p = static_cast<double*>(args.scratch);
    double *dp = p + r_.columns, *dq = dp + r_.columns, *dk = dq + r_.q.numel(), *dv = dk + r_.k.numel();
    std::fill(dq, dv + r_.v.numel(), 0.0);
    for (int64_t b = 0; b < r_.batch; ++b)
      for (int64_t h = 0; h < r_.heads; ++h)
        for (int64_t i = 0; i < r_.rows; ++i) {
          int64_t kh = b * r_.key_heads + h / r_.group();
          row(args, b, h, i, p, dp, dq + ((b * r_.heads + h) * r_.rows + i) * r_.width, dk + kh * r_.columns * r_.width,
              dv + kh * r_.columns * r_.value_width);
        }
    const double* from[3] = {dq, dk, dv};
    for (size_t o = 0; o < 3; ++o) {
      const Dims& n = outputs_[o].shape;
      const View4<T> to(static_cast<T*>(args.outputs[o]), outputs_[o]);
      const double* next = from[o];
      for (int64_t b = 0; b < n[0]; ++b)
        for (int64_t h = 0; h < n[1]; ++h)
          for (int64_t i = 0; i < n[2]; ++i)
            for (int64_t e = 0; e < n[3]; ++e) to.at(b, h, i, e) = round_to<T>(*next++);
    }
  }

 private:
  void row(const KernelArgs& args, int64_t b, int64_t h, int64_t i, double* p, double* dp, double* dq, double* dk,
           double* dv) const {
    View4<const T> dy(static_cast<const T*>(args.inputs[0]), dy_), q(static_cast<const T*>(args.inputs[1]), r_.q);
    View4<const T> k(static_cast<const T*>(args.inputs[2]), r_.k), v(static_cast<const T*>(args.inputs[3]), r_.v);
    probabilities<T>(r_, q, k, r_.mask.given() ? args.inputs[6] : nullptr, b, h, i, p);
    int64_t n = r_.visible(i), kh = h / r_.group();
    double mean = 0;
    for (int64_t j = 0; j < n; ++j) {
      dp[j] = 0;
      for (int64_t e = 0; e < r_.value_width; ++e) {
        dp[j] += static_cast<double>(dy.at(b, h, i, e)) * static_cast<double>(v.at(b, kh, j, e));
        dv[j * r_.value_width + e] += p[j] * static_cast<double>(dy.at(b, h, i, e));
      }
      mean += p[j] * dp[j];
    }
    for (int64_t j = 0; j < n; ++j) {
      double ds = p[j] * (dp[j] - mean) * r_.scale;
      for (int64_t e = 0; e < r_.width; ++e) {
        dq[e] += ds * static_cast<double>(k.at(b, kh, j, e));
        dk[j * r_.width + e] += ds * static_cast<double>(q.at(b, h, i, e));
      }
    }
  }

  AttentionRequest r_;
  TensorSpec dy_;
  std::vector<TensorSpec> outputs_;
};

std::unique_ptr<Kernel> prepare(const KernelRequest& request, std::string& why_not) {
  AttentionRequest r;
  if (!read_attention(request, r, why_not)) return nullptr;
  return visit_floating(r.q.dtype, [&]<class T>(Type<T>) -> std::unique_ptr<Kernel> {
    if (request.op == "_attention")
      return std::make_unique<ReferenceAttention<T>>(r, request.outputs[0], request.outputs[1]);
    return std::make_unique<ReferenceAttentionGrad<T>>(r, request);
  });
}

const RegisterKernel forward({"_attention", "reference", DeviceType::CPU, kReferencePriority, &prepare});
const RegisterKernel backward({"_attention_grad", "reference", DeviceType::CPU, kReferencePriority, &prepare});

}  // namespace
}  // namespace hw
