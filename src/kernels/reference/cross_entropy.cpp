// Cross-entropy over class indices and its gradient, in double.
#include <cmath>
#include <limits>

#include "kernels/lines/lines.h"

namespace hw {

namespace {

int64_t row_class(const Line& line) {
  const int64_t t = *static_cast<const int64_t*>(line.in[1]);
  if (t == static_cast<int64_t>(line.params[0])) return -1;
  if (t >= 0 && t < line.n) return t;
  line.status->report("target %ld is out of range for %ld classes", static_cast<long>(t), static_cast<long>(line.n));
  return -1;
}

void cross_entropy(const Line& line) {
  const double* x = static_cast<const double*>(line.in[0]);
  double top = -std::numeric_limits<double>::infinity(), total = 0, sum = 0;
  for (int64_t k = 0; k < line.n; ++k) top = x[k] > top ? x[k] : top;
  for (int64_t k = 0; k < line.n; ++k) total += std::exp(x[k] - top), sum += x[k];
  const double lse = top + std::log(total), s = line.params[1];
  const int64_t t = row_class(line);
  const double smooth = s > 0 ? s * sum / static_cast<double>(line.n) : 0;
  *static_cast<double*>(line.out[0]) = t < 0 ? 0 : lse - (1 - s) * x[t] - smooth;
  *static_cast<double*>(line.out[1]) = lse;
}

void cross_entropy_grad(const Line& line) {
  const double* x = static_cast<const double*>(line.in[0]);
  double* dx = static_cast<double*>(line.out[0]);
  const double lse = *static_cast<const double*>(line.in[2]), dy = *static_cast<const double*>(line.in[3]),
               s = line.params[1];
  const int64_t t = row_class(line);
  for (int64_t k = 0; k < line.n; ++k)
    dx[k] = t < 0 ? 0 : dy * (std::exp(x[k] - lse) - s / static_cast<double>(line.n) - (k == t ? 1 - s : 0));
}

template <LineFn kFunction>
std::unique_ptr<Kernel> prepare(const KernelRequest& request, std::string& why_not) {
  LineSpec spec;
  spec.axes = {request.inputs[0].ndim() == 1 ? 0 : 1};
  spec.fn = kFunction;
  spec.in.assign(request.inputs.size(), {LineRole::PerLine, DType::F64});
  spec.in[0] = {LineRole::Whole, DType::F64};
  spec.in[1] = {LineRole::PerLine, DType::I64};
  spec.out.assign(request.outputs.size(), {LineRole::PerLine, DType::F64});
  if (request.outputs.size() == 1) spec.out[0] = {LineRole::Whole, DType::F64};
  spec.params = {static_cast<double>(request.attrs[0].i64()), request.attrs[1].f64()};
  spec.threads = false;
  return make_line_kernel(request, std::move(spec), why_not);
}

const RegisterKernel registered[] = {
    RegisterKernel({"_cross_entropy", "reference", DeviceType::CPU, kReferencePriority, &prepare<&cross_entropy>}),
    RegisterKernel(
        {"_cross_entropy_grad", "reference", DeviceType::CPU, kReferencePriority, &prepare<&cross_entropy_grad>}),
};

}  // namespace

}  // namespace hw
