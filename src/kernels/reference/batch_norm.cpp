// Batch normalisation and its gradient, element by element, in double.
#include <cmath>
#include <vector>

#include "core/tensor.h"
#include "kernels/kernel.h"

namespace hw {

namespace {

/// Reads and writes elements of an operand by its position among all elements in row-major order.
struct Operand {
  TensorSpec spec;
  char* data = nullptr;
  char* place(int64_t index) const {
    int64_t offset = 0;
    for (int64_t a = spec.ndim() - 1; a >= 0; --a) {
      size_t u = static_cast<size_t>(a);
      offset += index % spec.shape[u] * spec.strides[u];
      index /= spec.shape[u];
    }
    return data + offset * dtype_size(spec.dtype);
  }
  double get(int64_t index) const { return load_scalar(place(index), spec.dtype).f64(); }
  void set(int64_t index, double v) const { store_scalar(place(index), spec.dtype, Scalar(v)); }
};

class Reference final : public Kernel {
 public:
  Reference(const KernelRequest& r, bool backward, double eps) : backward_(backward), eps_(eps) {
    for (const TensorSpec& s : r.inputs) in_.push_back(s);
    for (const TensorSpec& s : r.outputs) out_.push_back(s);
  }

  void run(const KernelArgs& args) const override {
    auto in = [&](size_t i) { return Operand{in_[i], const_cast<char*>(static_cast<const char*>(args.inputs[i]))}; };
    auto out = [&](size_t i) { return Operand{out_[i], static_cast<char*>(args.outputs[i])}; };
    const TensorSpec& x = in_[backward_ ? 1 : 0];
    const int64_t channels = x.shape[1], inner = numel(std::span(x.shape.begin() + 2, x.shape.end()));
    const int64_t n = x.shape[0] * inner;
    for (int64_t c = 0; c < channels; ++c) {
      auto index = [&](int64_t k) { return (k / inner * channels + c) * inner + k % inner; };
      if (backward_)
        gradient(in, out, c, n, index);
      else
        normalise(in, out, c, n, index);
    }
  }

 private:
  template <class In, class Out, class Index>
  void normalise(In in, Out out, int64_t c, int64_t n, Index index) const {
    Operand x = in(0), y = out(0);
    double mean = 0, variance = 0;
    for (int64_t k = 0; k < n; ++k) mean += x.get(index(k)) / static_cast<double>(n);
    for (int64_t k = 0; k < n; ++k) variance += std::pow(x.get(index(k)) - mean, 2) / static_cast<double>(n);
    const double rstd = 1 / std::sqrt(variance + eps_);
    const double w = in_[1].given() ? in(1).get(c) : 1, b = in_[2].given() ? in(2).get(c) : 0;
    for (int64_t k = 0; k < n; ++k) y.set(index(k), (x.get(index(k)) - mean) * rstd * w + b);
    out(1).set(c, mean);
    out(2).set(c, rstd);
  }

  template <class In, class Out, class Index>
  void gradient(In in, Out out, int64_t c, int64_t n, Index index) const {
    Operand dy = in(0), x = in(1), dx = out(0);
    const double mean = in(2).get(c), rstd = in(3).get(c), w = in_[4].given() ? in(4).get(c) : 1;
    double sum = 0, product = 0;
    for (int64_t k = 0; k < n; ++k) {
      sum += dy.get(index(k));
      product += dy.get(index(k)) * (x.get(index(k)) - mean) * rstd;
    }
    for (int64_t k = 0; k < n; ++k) {
      const double h = (x.get(index(k)) - mean) * rstd;
      dx.set(index(k),
             w * rstd * (dy.get(index(k)) - sum / static_cast<double>(n) - h * product / static_cast<double>(n)));
    }
    out(1).set(c, product);
    out(2).set(c, sum);
  }

  bool backward_;
  double eps_;
  std::vector<TensorSpec> in_, out_;
};

std::unique_ptr<Kernel> prepare_forward(const KernelRequest& r, std::string&) {
  return std::make_unique<Reference>(r, false, r.attrs[0].f64());
}
std::unique_ptr<Kernel> prepare_backward(const KernelRequest& r, std::string&) {
  return std::make_unique<Reference>(r, true, 0);
}

const RegisterKernel registered[] = {
    RegisterKernel({"_batch_norm", "reference", DeviceType::CPU, kReferencePriority, &prepare_forward}),
    RegisterKernel({"_batch_norm_grad", "reference", DeviceType::CPU, kReferencePriority, &prepare_backward}),
};

}  // namespace

}  // namespace hw
