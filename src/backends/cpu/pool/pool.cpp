// Pooling of contiguous f32 and f64 planes on the thread team; 16-bit floats go through f32.
#include <algorithm>
#include <cmath>

#include "base/thread_team.h"
#include "core/visit.h"
#include "kernels/pool/windows.h"
#include "kernels/staged.h"

namespace hw {
namespace {

int64_t planes_grain(const PoolWindows& w) {
  return std::max<int64_t>(1, 16384 / std::max<int64_t>(1, std::max(w.in_size(), w.out_size())));
}

/// Runs body(o0, o1, input row offset or so) over windows: body(output row, first index of the window's rows).
template <class F>
void each_output_row(const PoolWindows& w, F&& body) {
  for (int64_t o0 = 0; o0 < w.axis[0].out; ++o0)
    for (int64_t o1 = 0; o1 < w.axis[1].out; ++o1) body(o0, o1, (o0 * w.axis[1].out + o1) * w.axis[2].out);
}

/// body(offset of the input row) for each input row that output row (o0, o1) sees.
template <class F>
void each_input_row(const PoolWindows& w, int64_t o0, int64_t o1, F&& body) {
  const PoolAxis &a = w.axis[0], &b = w.axis[1];
  for (int64_t i0 = a.begin[o0], n0 = a.count[o0]; n0 > 0; --n0, i0 += a.step)
    for (int64_t i1 = b.begin[o1], n1 = b.count[o1]; n1 > 0; --n1, i1 += b.step) body((i0 * b.in + i1) * w.axis[2].in);
}

template <class T>
class MaxPool final : public Kernel {
 public:
  explicit MaxPool(PoolWindows w) : w_(std::move(w)) {}
  void run(const KernelArgs& args) const override {
    parallel_for(w_.planes, planes_grain(w_), [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p)
        plane(static_cast<const T*>(args.inputs[0]) + p * w_.in_size(),
              static_cast<T*>(args.outputs[0]) + p * w_.out_size(),
              static_cast<int64_t*>(args.outputs[1]) + p * w_.out_size());
    });
  }

 private:
  void plane(const T* x, T* y, int64_t* indices) const {
    const PoolAxis& axis = w_.axis[2];
    each_output_row(w_, [&](int64_t o0, int64_t o1, int64_t at) {
      T* best = y + at;
      int64_t* where = indices + at;
      std::fill_n(best, axis.out, -std::numeric_limits<T>::infinity());
      std::fill_n(where, axis.out, int64_t{-1});
      each_input_row(w_, o0, o1, [&](int64_t row) {
        for (int64_t o = 0; o < axis.out; ++o) {
          int64_t i = row + axis.begin[o];
          T top = best[o];
          int64_t found = where[o];
          for (int64_t k = axis.count[o]; k > 0; --k, i += axis.step) {
            T v = x[i];
            if (!(v <= top) || found < 0) {  // larger, NaN, or the first; a NaN stays unless another follows
              if (top != top && v == v) continue;
              top = v, found = i;
            }
          }
          best[o] = top, where[o] = found;
        }
      });
    });
  }
  PoolWindows w_;
};

template <class T>
class MaxPoolGrad final : public Kernel {
 public:
  explicit MaxPoolGrad(PoolWindows w) : w_(std::move(w)) {}
  void run(const KernelArgs& args) const override {
    int64_t in = w_.in_size(), out = w_.out_size();
    parallel_for(w_.planes, planes_grain(w_), [&](int64_t begin, int64_t end) {
      auto* dx = static_cast<T*>(args.outputs[0]);
      std::fill(dx + begin * in, dx + end * in, T(0));
      for (int64_t p = begin; p < end; ++p) {
        const T* dy = static_cast<const T*>(args.inputs[0]) + p * out;
        const int64_t* indices = static_cast<const int64_t*>(args.inputs[1]) + p * out;
        for (int64_t o = 0; o < out; ++o) {
          if (indices[o] < 0 || indices[o] >= in)
            args.status->report("max pool: index %lld is outside a plane of %lld", static_cast<long long>(indices[o]),
                                static_cast<long long>(in));
          else
            dx[p * in + indices[o]] += dy[o];
        }
      }
    });
  }

 private:
  PoolWindows w_;
};

template <class T>
T row_sum(const T* x, int64_t n) {
  T lanes[16] = {};
  int64_t i = 0;
  for (; i + 16 <= n; i += 16)
    for (int k = 0; k < 16; ++k) lanes[k] += x[i + k];
  T sum = 0;
  for (T lane : lanes) sum += lane;
  for (; i < n; ++i) sum += x[i];
  return sum;
}

template <class T>
class AvgPool final : public Kernel {
 public:
  explicit AvgPool(PoolWindows w) : w_(std::move(w)) {}
  void run(const KernelArgs& args) const override {
    parallel_for(w_.planes, planes_grain(w_), [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p)
        plane(static_cast<const T*>(args.inputs[0]) + p * w_.in_size(),
              static_cast<T*>(args.outputs[0]) + p * w_.out_size());
    });
  }

 private:
  void plane(const T* x, T* y) const {
    const PoolAxis& axis = w_.axis[2];
    if (w_.out_size() == 1 && axis.count[0] == axis.in && w_.axis[1].count[0] == w_.axis[1].in &&
        w_.axis[0].count[0] == w_.axis[0].in) {
      *y = row_sum(x, w_.in_size()) / static_cast<T>(w_.divisor(0, 0, 0));
      return;
    }
    each_output_row(w_, [&](int64_t o0, int64_t o1, int64_t at) {
      T* sums = y + at;
      std::fill_n(sums, axis.out, T(0));
      each_input_row(w_, o0, o1, [&](int64_t row) {
        for (int64_t o = 0; o < axis.out; ++o) {
          const T* from = x + row + axis.begin[o];
          T sum = 0;
          for (int64_t k = 0; k < axis.count[o]; ++k) sum += from[k];
          sums[o] += sum;
        }
      });
      for (int64_t o = 0; o < axis.out; ++o) sums[o] /= static_cast<T>(w_.divisor(o0, o1, o));
    });
  }
  PoolWindows w_;
};

template <class T>
class AvgPoolGrad final : public Kernel {
 public:
  explicit AvgPoolGrad(PoolWindows w) : w_(std::move(w)) {}
  void run(const KernelArgs& args) const override {
    parallel_for(w_.planes, planes_grain(w_), [&](int64_t begin, int64_t end) {
      auto* dx = static_cast<T*>(args.outputs[0]);
      std::fill(dx + begin * w_.in_size(), dx + end * w_.in_size(), T(0));
      for (int64_t p = begin; p < end; ++p)
        plane(static_cast<const T*>(args.inputs[0]) + p * w_.out_size(), dx + p * w_.in_size());
    });
  }

 private:
  void plane(const T* dy, T* dx) const {
    const PoolAxis& axis = w_.axis[2];
    each_output_row(w_, [&](int64_t o0, int64_t o1, int64_t at) {
      for (int64_t o = 0; o < axis.out; ++o) {
        T part = dy[at + o] / static_cast<T>(w_.divisor(o0, o1, o));
        each_input_row(w_, o0, o1, [&](int64_t row) {
          T* to = dx + row + axis.begin[o];
          for (int64_t k = 0; k < axis.count[o]; ++k) to[k] += part;
        });
      }
    });
  }
  PoolWindows w_;
};

template <class T>
std::unique_ptr<Kernel> make(std::string_view op, PoolWindows w) {
  if (op == "max_pool_grad") return std::make_unique<MaxPoolGrad<T>>(std::move(w));
  if (op.find("max") != std::string_view::npos) return std::make_unique<MaxPool<T>>(std::move(w));
  if (op.ends_with("_grad")) return std::make_unique<AvgPoolGrad<T>>(std::move(w));
  return std::make_unique<AvgPool<T>>(std::move(w));
}

std::unique_ptr<Kernel> prepare_contiguous(const KernelRequest& request, std::string&) {
  PoolWindows w = read_windows(request);
  return request.inputs[0].dtype == DType::F64 ? make<double>(request.op, std::move(w))
                                               : make<float>(request.op, std::move(w));
}

std::unique_ptr<Kernel> prepare(const KernelRequest& request, std::string& why_not) {
  DType dtype = request.inputs[0].dtype;
  if (!is_floating(dtype)) {
    why_not = "serves floating dtypes";
    return nullptr;
  }
  return prepare_staged(request, is_reduced(dtype) ? DType::F32 : dtype, &prepare_contiguous, why_not);
}

const RegisterKernel max_pool({"max_pool", "simd", DeviceType::CPU, 10, &prepare});
const RegisterKernel max_pool_grad({"max_pool_grad", "simd", DeviceType::CPU, 10, &prepare});
const RegisterKernel avg_pool({"avg_pool", "simd", DeviceType::CPU, 10, &prepare});
const RegisterKernel avg_pool_grad({"avg_pool_grad", "simd", DeviceType::CPU, 10, &prepare});
const RegisterKernel adaptive_avg({"adaptive_avg_pool", "simd", DeviceType::CPU, 10, &prepare});
const RegisterKernel adaptive_grad({"adaptive_avg_pool_grad", "simd", DeviceType::CPU, 10, &prepare});
const RegisterKernel adaptive_max({"adaptive_max_pool", "simd", DeviceType::CPU, 10, &prepare});

}  // namespace
}  // namespace hw
