// Reference of _pack_linear_weight and _linear_packed: plain loops, sums in double.
#include <algorithm>
#include <cmath>

#include "kernels/linalg/packed_linear.h"
#include "kernels/linalg/product.h"

namespace hw {
namespace {

class PackReference final : public Kernel {
 public:
  PackReference(const TensorSpec& w, int64_t width) : w_(w), width_(width) {}
  void run(const KernelArgs& args) const override {
    PackedLinear p;
    p.n = w_.shape[0], p.k = w_.shape[1], p.width = width_;
    const auto* w = static_cast<const float*>(args.inputs[0]);
    auto* packed = static_cast<float*>(args.outputs[0]);
    std::fill_n(packed, p.panels() * p.k * width_, 0.0f);
    for (int64_t o = 0; o < p.n; ++o)
      for (int64_t i = 0; i < p.k; ++i) packed[p.packed_index(o, i)] = w[o * w_.strides[0] + i * w_.strides[1]];
  }

 private:
  TensorSpec w_;
  int64_t width_;
};

double activate(Activation activation, double x) {
  switch (activation) {
    case Activation::Relu: return x > 0 || x != x ? x : 0.0;
    case Activation::Gelu: return 0.5 * x * std::erfc(-x * std::sqrt(0.5));
    case Activation::GeluTanh: return 0.5 * x * (1 + std::tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
    case Activation::Tanh: return std::tanh(x);
    case Activation::Sigmoid: return 1 / (1 + std::exp(-x));
    case Activation::Silu: return x / (1 + std::exp(-x));
    default: return x;
  }
}

class LinearReference final : public Kernel {
 public:
  LinearReference(const PackedLinear& p, const KernelRequest& request) : p_(p), x_(request.inputs[0]) {
    if (p_.has_residual) residual_ = request.inputs[3];
  }
  size_t scratch_bytes() const override {
    return sizeof(float) * static_cast<size_t>(p_.m * (p_.k + (p_.has_residual ? p_.n : 0)));
  }
  void run(const KernelArgs& args) const override {
    auto* x = static_cast<float*>(args.scratch);
    float* residual = x + p_.m * p_.k;
    gather(args.inputs[0], x_, x);
    if (p_.has_residual) gather(args.inputs[3], residual_, residual);
    const auto* packed = static_cast<const float*>(args.inputs[1]);
    const auto* bias = p_.has_bias ? static_cast<const float*>(args.inputs[2]) : nullptr;
    auto* y = static_cast<float*>(args.outputs[0]);
    for (int64_t r = 0; r < p_.m; ++r)
      for (int64_t o = 0; o < p_.n; ++o) {
        double sum = bias ? static_cast<double>(bias[o]) : 0.0;
        for (int64_t i = 0; i < p_.k; ++i)
          sum += static_cast<double>(x[r * p_.k + i]) * static_cast<double>(packed[p_.packed_index(o, i)]);
        if (p_.has_residual) sum += static_cast<double>(residual[r * p_.n + o]);
        y[r * p_.n + o] = static_cast<float>(activate(p_.activation, sum));
      }
  }

 private:
  PackedLinear p_;
  TensorSpec x_, residual_;
};

std::unique_ptr<Kernel> prepare_pack(const KernelRequest& request, std::string&) {
  return std::make_unique<PackReference>(request.inputs[0], request.attrs[0].i64());
}

std::unique_ptr<Kernel> prepare_linear(const KernelRequest& request, std::string& why_not) {
  PackedLinear p;
  if (!read_packed_linear(request, p, why_not)) return nullptr;
  return std::make_unique<LinearReference>(p, request);
}

const RegisterKernel pack({"_pack_linear_weight", "reference", DeviceType::CPU, kReferencePriority, &prepare_pack});
const RegisterKernel linear({"_linear_packed", "reference", DeviceType::CPU, kReferencePriority, &prepare_linear});

}  // namespace
}  // namespace hw
