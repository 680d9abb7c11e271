// Softmax, log_softmax and their gradients, in double.
#include <cmath>
#include <limits>

#include "kernels/lines/lines.h"

namespace hw {

namespace {

double log_sum(const double* x, int64_t n, double& top) {
  top = -std::numeric_limits<double>::infinity();
  double total = 0;
  for (int64_t k = 0; k < n; ++k) top = x[k] > top ? x[k] : top;
  for (int64_t k = 0; k < n; ++k) total += std::exp(x[k] - top);
  return std::log(total);
}

void log_softmax(const Line& line) {
  const double* x = static_cast<const double*>(line.in[0]);
  double* y = static_cast<double*>(line.out[0]);
  double top, log = log_sum(x, line.n, top);
  for (int64_t k = 0; k < line.n; ++k) y[k] = x[k] - top - log;
}

void softmax(const Line& line) {
  log_softmax(line);
  double* y = static_cast<double*>(line.out[0]);
  for (int64_t k = 0; k < line.n; ++k) y[k] = std::exp(y[k]);
}

void softmax_grad(const Line& line) {
  const double *dy = static_cast<const double*>(line.in[0]), *y = static_cast<const double*>(line.in[1]);
  double* dx = static_cast<double*>(line.out[0]);
  double sum = 0;
  for (int64_t k = 0; k < line.n; ++k) sum += dy[k] * y[k];
  for (int64_t k = 0; k < line.n; ++k) dx[k] = y[k] * (dy[k] - sum);
}

void log_softmax_grad(const Line& line) {
  const double *dy = static_cast<const double*>(line.in[0]), *y = static_cast<const double*>(line.in[1]);
  double* dx = static_cast<double*>(line.out[0]);
  double sum = 0;
  for (int64_t k = 0; k < line.n; ++k) sum += dy[k];
  for (int64_t k = 0; k < line.n; ++k) dx[k] = dy[k] - std::exp(y[k]) * sum;
}

template <LineFn kFunction>
std::unique_ptr<Kernel> prepare(const KernelRequest& request, std::string& why_not) {
  LineSpec spec;
  const int64_t ndim = request.inputs[0].ndim();
  if (ndim > 0) spec.axes = {normalize_axis(request.attrs[0].i64(), ndim)};
  spec.fn = kFunction;
  spec.in.assign(request.inputs.size(), {LineRole::Whole, DType::F64});
  spec.out = {{LineRole::Whole, DType::F64}};
  spec.threads = false;
  return make_line_kernel(request, std::move(spec), why_not);
}

const RegisterKernel registered[] = {
    RegisterKernel({"softmax", "reference", DeviceType::CPU, kReferencePriority, &prepare<&softmax>}),
    RegisterKernel({"log_softmax", "reference", DeviceType::CPU, kReferencePriority, &prepare<&log_softmax>}),
    RegisterKernel({"_softmax_grad", "reference", DeviceType::CPU, kReferencePriority, &prepare<&softmax_grad>}),
    RegisterKernel(
        {"_log_softmax_grad", "reference", DeviceType::CPU, kReferencePriority, &prepare<&log_softmax_grad>}),
};

}  // namespace

}  // namespace hw
