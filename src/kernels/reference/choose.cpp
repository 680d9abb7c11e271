// Picking an element along an axis: the largest, the smallest, the lower median.
#include <algorithm>

#include "core/visit.h"
#include "kernels/lines/lines.h"
#include "kernels/reduce/plan.h"

namespace hw {

namespace {

template <class T>
void choose(const Line& line, int64_t best) {
  if (line.out[1]) {
    *static_cast<T*>(line.out[0]) = static_cast<const T*>(line.in[0])[best];
    *static_cast<int64_t*>(line.out[1]) = best;
  } else {
    *static_cast<int64_t*>(line.out[0]) = best;
  }
}

/// The first of equal elements; the first NaN before everything.
template <class T, bool kMax>
void extreme(const Line& line) {
  const T* x = static_cast<const T*>(line.in[0]);
  int64_t best = 0;
  T top = x[0];
  for (int64_t k = 1; k < line.n && top == top; ++k) {
    if (!(kMax ? x[k] <= top : x[k] >= top)) {
      best = k;
      top = x[k];
    }
  }
  choose<T>(line, best);
}

template <class T>
void median(const Line& line) {
  const T* x = static_cast<const T*>(line.in[0]);
  auto* order = static_cast<int64_t*>(line.scratch);
  for (int64_t k = 0; k < line.n; ++k) {
    if (x[k] != x[k]) return choose<T>(line, k);
    order[k] = k;
  }
  int64_t* middle = order + (line.n - 1) / 2;
  std::nth_element(order, middle, order + line.n,
                   [x](int64_t a, int64_t b) { return x[a] != x[b] ? x[a] < x[b] : a < b; });
  choose<T>(line, *middle);
}

template <class T>
LineFn function_for(std::string_view op) {
  if (op == "_median_dim") return &median<T>;
  return op == "argmax" || op == "_max_dim" ? LineFn(&extreme<T, true>) : &extreme<T, false>;
}

std::unique_ptr<Kernel> prepare(const KernelRequest& request, std::string& why_not) {
  LineSpec spec;
  const TensorSpec& x = request.inputs[0];
  spec.axes = reduced_axes(request.attrs[0], x.ndim());
  if (x.ndim() == 0) spec.axes.clear();
  const DType d = is_reduced(x.dtype) ? DType::F32 : is_floating(x.dtype) ? x.dtype : DType::I64;
  spec.fn = d == DType::I64   ? function_for<int64_t>(request.op)
            : d == DType::F32 ? function_for<float>(request.op)
                              : function_for<double>(request.op);
  spec.in = {{LineRole::Whole, d}};
  if (request.outputs.size() == 2) spec.out = {{LineRole::PerLine, d}};
  spec.out.push_back({LineRole::PerLine, DType::I64});
  spec.cost = request.op == "_median_dim" ? 16 : 2;
  spec.scratch = request.op == "_median_dim" ? 8 : 0;
  return make_line_kernel(request, std::move(spec), why_not);
}

constexpr std::string_view kOps[] = {"argmax", "argmin", "_max_dim", "_min_dim", "_median_dim"};
struct RegisterAll {
  RegisterAll() {
    for (std::string_view op : kOps) RegisterKernel({op, "reference", DeviceType::CPU, kReferencePriority, &prepare});
  }
};
const RegisterAll registered;

}  // namespace

}  // namespace hw
