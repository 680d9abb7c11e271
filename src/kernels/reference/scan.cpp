// Running sums, products, extremes and logarithms of sums, element after element.
#include <cmath>
#include <limits>

#include "core/visit.h"
#include "kernels/lines/lines.h"

namespace hw {

namespace {

enum class Scan { Sum, Product };

template <class T, Scan kScan>
void scan(const Line& line) {
  const T* x = static_cast<const T*>(line.in[0]);
  T* y = static_cast<T*>(line.out[0]);
  // 16-bit and f32 sums run in double: a running sum has no pairs to add.
  using Wide =
      std::conditional_t<std::is_same_v<T, float>, double, std::conditional_t<std::is_same_v<T, int64_t>, uint64_t, T>>;
  Wide acc = kScan == Scan::Sum ? Wide(0) : Wide(1);
  for (int64_t k = 0; k < line.n; ++k) {
    if constexpr (kScan == Scan::Sum)
      acc += static_cast<Wide>(x[k]);
    else
      acc *= static_cast<Wide>(x[k]);
    y[k] = static_cast<T>(acc);
  }
}

template <class T, bool kMax>
void extreme(const Line& line) {
  const T* x = static_cast<const T*>(line.in[0]);
  T* y = static_cast<T*>(line.out[0]);
  auto* index = static_cast<int64_t*>(line.out[1]);
  for (int64_t k = 0, best = 0; k < line.n; ++k) {
    const bool nan = x[k] != x[k], had = x[best] != x[best];
    if (nan || (!had && (kMax ? x[k] >= x[best] : x[k] <= x[best]))) best = k;
    y[k] = x[best];
    index[k] = best;
  }
}

/// log of the sum of exponentials so far, as exponentials over the largest element so far; in double for f32.
template <class T>
void log_sum(const Line& line) {
  const T* x = static_cast<const T*>(line.in[0]);
  T* y = static_cast<T*>(line.out[0]);
  double most = -std::numeric_limits<double>::infinity(), total = 0;
  for (int64_t k = 0; k < line.n; ++k) {
    const double v = static_cast<double>(x[k]);
    if (v == most) {
      total += std::isinf(v) && v < 0 ? 0 : 1;
    } else if (v < most) {
      total += std::exp(v - most);
    } else {  // larger, or NaN, which stays
      total = total * std::exp(most - v) + 1;
      most = v;
    }
    y[k] = static_cast<T>(most + std::log(total));
  }
}

template <Scan kScan>
LineFn scan_for(DType d) {
  switch (d) {
    case DType::I64: return &scan<int64_t, kScan>;
    case DType::F32: return &scan<float, kScan>;
    case DType::F64: return &scan<double, kScan>;
    case DType::C64: return &scan<std::complex<float>, kScan>;
    default: return &scan<std::complex<double>, kScan>;
  }
}

template <bool kMax>
LineFn extreme_for(DType d) {
  if (d == DType::I64) return &extreme<int64_t, kMax>;
  return d == DType::F32 ? LineFn(&extreme<float, kMax>) : &extreme<double, kMax>;
}

DType wide(DType d) {
  if (is_reduced(d)) return DType::F32;
  return is_integral(d) || d == DType::Bool ? DType::I64 : d;
}

std::unique_ptr<Kernel> prepare(const KernelRequest& request, std::string& why_not) {
  LineSpec spec;
  const int64_t ndim = request.inputs[0].ndim();
  if (ndim > 0) spec.axes = {normalize_axis(request.attrs[0].i64(), ndim)};
  const DType d = wide(request.outputs[0].dtype);
  spec.in = {{LineRole::Whole, d}};
  spec.out = {{LineRole::Whole, d}};
  spec.cost = 2;
  if (request.op == "cumsum" || request.op == "cumprod") {
    spec.fn = request.op == "cumsum" ? scan_for<Scan::Sum>(d) : scan_for<Scan::Product>(d);
  } else if (request.op == "logcumsumexp") {
    spec.fn = d == DType::F32 ? &log_sum<float> : &log_sum<double>;
    spec.cost = 30;
  } else {
    spec.fn = request.op == "cummax" ? extreme_for<true>(d) : extreme_for<false>(d);
    spec.out.push_back({LineRole::Whole, DType::I64});
  }
  return make_line_kernel(request, std::move(spec), why_not);
}

const RegisterKernel registered[] = {
    RegisterKernel({"cumsum", "reference", DeviceType::CPU, kReferencePriority, &prepare}),
    RegisterKernel({"cumprod", "reference", DeviceType::CPU, kReferencePriority, &prepare}),
    RegisterKernel({"cummax", "reference", DeviceType::CPU, kReferencePriority, &prepare}),
    RegisterKernel({"cummin", "reference", DeviceType::CPU, kReferencePriority, &prepare}),
    RegisterKernel({"logcumsumexp", "reference", DeviceType::CPU, kReferencePriority, &prepare}),
};

}  // namespace

}  // namespace hw
