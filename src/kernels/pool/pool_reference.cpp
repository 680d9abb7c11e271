// Reference pooling: one output point after the other, sums in double. Planes must be contiguous (staged otherwise).
#include <cmath>

#include "core/visit.h"
#include "kernels/pool/windows.h"
#include "kernels/staged.h"

namespace hw {
namespace {

/// body(output index in the plane, o0, o1, o2)
template <class F>
void each_output(const PoolWindows& w, F&& body) {
  int64_t at = 0;
  for (int64_t o0 = 0; o0 < w.axis[0].out; ++o0)
    for (int64_t o1 = 0; o1 < w.axis[1].out; ++o1)
      for (int64_t o2 = 0; o2 < w.axis[2].out; ++o2) body(at++, o0, o1, o2);
}

/// body(input index in the plane) for each point of a window, in row-major order
template <class F>
void each_input(const PoolWindows& w, int64_t o0, int64_t o1, int64_t o2, F&& body) {
  for (int64_t k0 = 0; k0 < w.axis[0].count[o0]; ++k0)
    for (int64_t k1 = 0; k1 < w.axis[1].count[o1]; ++k1)
      for (int64_t k2 = 0; k2 < w.axis[2].count[o2]; ++k2) {
        int64_t i0 = w.axis[0].begin[o0] + k0 * w.axis[0].step, i1 = w.axis[1].begin[o1] + k1 * w.axis[1].step;
        body((i0 * w.axis[1].in + i1) * w.axis[2].in + w.axis[2].begin[o2] + k2 * w.axis[2].step);
      }
}

template <class T>
T round_to(double value) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
    return T(static_cast<float>(value));
  else
    return static_cast<T>(value);
}

template <class T>
class ReferencePool final : public Kernel {
 public:
  ReferencePool(PoolWindows w, std::string_view op) : w_(std::move(w)), grad_(op.ends_with("_grad")) {
    max_ = op.find("max") != std::string_view::npos;
  }
  size_t scratch_bytes() const override { return grad_ ? static_cast<size_t>(w_.in_size()) * sizeof(double) : 0; }
  void run(const KernelArgs& args) const override {
    for (int64_t plane = 0; plane < w_.planes; ++plane)
      grad_ ? backward(args, plane) : max_ ? maximum(args, plane) : average(args, plane);
  }

 private:
  void maximum(const KernelArgs& args, int64_t plane) const {
    const T* x = static_cast<const T*>(args.inputs[0]) + plane * w_.in_size();
    T* y = static_cast<T*>(args.outputs[0]) + plane * w_.out_size();
    int64_t* indices = static_cast<int64_t*>(args.outputs[1]) + plane * w_.out_size();
    each_output(w_, [&](int64_t at, int64_t o0, int64_t o1, int64_t o2) {
      int64_t best = -1;
      each_input(w_, o0, o1, o2, [&](int64_t i) {
        if (best < 0 || x[i] > x[best] || x[i] != x[i])
          best = i;  // the first of equals; the last NaN wins, as in torch
      });
      y[at] = best < 0 ? round_to<T>(std::is_integral_v<T> ? 0.0 : -INFINITY) : x[best];
      indices[at] = best;
    });
  }
  void average(const KernelArgs& args, int64_t plane) const {
    const T* x = static_cast<const T*>(args.inputs[0]) + plane * w_.in_size();
    T* y = static_cast<T*>(args.outputs[0]) + plane * w_.out_size();
    each_output(w_, [&](int64_t at, int64_t o0, int64_t o1, int64_t o2) {
      double sum = 0;
      each_input(w_, o0, o1, o2, [&](int64_t i) { sum += static_cast<double>(x[i]); });
      y[at] = round_to<T>(sum / w_.divisor(o0, o1, o2));
    });
  }
  void backward(const KernelArgs& args, int64_t plane) const {
    const T* dy = static_cast<const T*>(args.inputs[0]) + plane * w_.out_size();
    T* dx = static_cast<T*>(args.outputs[0]) + plane * w_.in_size();
    auto* sums = static_cast<double*>(args.scratch);
    for (int64_t i = 0; i < w_.in_size(); ++i) sums[i] = 0;
    if (max_) {
      const int64_t* indices = static_cast<const int64_t*>(args.inputs[1]) + plane * w_.out_size();
      for (int64_t o = 0; o < w_.out_size(); ++o) {
        if (indices[o] < 0 || indices[o] >= w_.in_size())
          args.status->report("max pool: index %lld is outside a plane of %lld", static_cast<long long>(indices[o]),
                              static_cast<long long>(w_.in_size()));
        else
          sums[indices[o]] += static_cast<double>(dy[o]);
      }
    } else {
      each_output(w_, [&](int64_t at, int64_t o0, int64_t o1, int64_t o2) {
        double part = static_cast<double>(dy[at]) / w_.divisor(o0, o1, o2);
        each_input(w_, o0, o1, o2, [&](int64_t i) { sums[i] += part; });
      });
    }
    for (int64_t i = 0; i < w_.in_size(); ++i) dx[i] = round_to<T>(sums[i]);
  }

  PoolWindows w_;
  bool grad_, max_ = false;
};

std::unique_ptr<Kernel> prepare_contiguous(const KernelRequest& request, std::string& why_not) {
  DType dtype = request.inputs[0].dtype;
  bool max = request.op.find("max") != std::string_view::npos;
  if (!is_floating(dtype) && !(max && is_integral(dtype))) {
    why_not = max ? "serves real numbers" : "serves floating dtypes";
    return nullptr;
  }
  PoolWindows w = read_windows(request);
  return visit_dtype(dtype, [&]<class T>(Type<T>) -> std::unique_ptr<Kernel> {
    if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, std::complex<float>> ||
                  std::is_same_v<T, std::complex<double>>)
      return nullptr;
    else
      return std::make_unique<ReferencePool<T>>(std::move(w), request.op);
  });
}

std::unique_ptr<Kernel> prepare(const KernelRequest& request, std::string& why_not) {
  return prepare_staged(request, request.inputs[0].dtype, &prepare_contiguous, why_not);
}

const RegisterKernel max_pool({"max_pool", "reference", DeviceType::CPU, kReferencePriority, &prepare});
const RegisterKernel max_pool_grad({"max_pool_grad", "reference", DeviceType::CPU, kReferencePriority, &prepare});
const RegisterKernel avg_pool({"avg_pool", "reference", DeviceType::CPU, kReferencePriority, &prepare});
const RegisterKernel avg_pool_grad({"avg_pool_grad", "reference", DeviceType::CPU, kReferencePriority, &prepare});
const RegisterKernel adaptive_avg({"adaptive_avg_pool", "reference", DeviceType::CPU, kReferencePriority, &prepare});
const RegisterKernel adaptive_grad({"adaptive_avg_pool_grad", "reference", DeviceType::CPU, kReferencePriority,
                                    &prepare});
const RegisterKernel adaptive_max({"adaptive_max_pool", "reference", DeviceType::CPU, kReferencePriority, &prepare});

}  // namespace
}  // namespace hw
