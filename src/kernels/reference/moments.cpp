// Variance, mean and log-sum-exp of lines, in double, in the plainest way.
#include <cmath>
#include <limits>

#include "kernels/lines/lines.h"
#include "kernels/reduce/plan.h"

namespace hw {

namespace {

/// params: correction, root.
void var_mean(const Line& line) {
  const double* x = static_cast<const double*>(line.in[0]);
  double total = 0, squares = 0;
  for (int64_t k = 0; k < line.n; ++k) total += x[k];
  const double mean = total / static_cast<double>(line.n);
  for (int64_t k = 0; k < line.n; ++k) squares += (x[k] - mean) * (x[k] - mean);
  const double divisor = static_cast<double>(line.n) - line.params[0];
  const double var = squares / (divisor > 0 ? divisor : 0);
  *static_cast<double*>(line.out[0]) = line.params[1] != 0 ? std::sqrt(var) : var;
  *static_cast<double*>(line.out[1]) = mean;
}

void logsumexp(const Line& line) {
  const double* x = static_cast<const double*>(line.in[0]);
  double top = -std::numeric_limits<double>::infinity(), total = 0;
  for (int64_t k = 0; k < line.n; ++k) top = x[k] > top || x[k] != x[k] ? x[k] : top;
  const double shift = std::isinf(top) ? 0 : top;
  for (int64_t k = 0; k < line.n; ++k) total += std::exp(x[k] - shift);
  *static_cast<double*>(line.out[0]) = std::log(total) + shift;
}

std::unique_ptr<Kernel> prepare(const KernelRequest& request, std::string& why_not) {
  LineSpec spec;
  const TensorSpec& x = request.inputs[0];
  spec.axes = x.ndim() == 0 ? Dims() : reduced_axes(request.attrs[0], x.ndim());
  spec.in = {{LineRole::Whole, DType::F64}};
  spec.out.assign(request.outputs.size(), {LineRole::PerLine, DType::F64});
  spec.fn = request.op == "logsumexp" ? &logsumexp : &var_mean;
  if (request.op == "_var_mean") spec.params = {request.attrs[2].f64(), request.attrs[3].truth() ? 1.0 : 0.0};
  spec.threads = false;
  return make_line_kernel(request, std::move(spec), why_not);
}

const RegisterKernel registered[] = {
    RegisterKernel({"_var_mean", "reference", DeviceType::CPU, kReferencePriority, &prepare}),
    RegisterKernel({"logsumexp", "reference", DeviceType::CPU, kReferencePriority, &prepare}),
};

}  // namespace

}  // namespace hw
