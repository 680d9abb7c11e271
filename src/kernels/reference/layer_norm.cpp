// Layer and RMS normalisation, in double.
#include <cmath>

#include "kernels/lines/layer_norm.h"

namespace hw {

namespace {

const double* input(const Line& line, int i) { return static_cast<const double*>(line.in[i]); }
double* output(const Line& line, int i) { return static_cast<double*>(line.out[i]); }

/// params: eps, centred.
void forward(const Line& line) {
  const double *x = input(line, 0), *weight = input(line, 1), *bias = input(line, 2), n = static_cast<double>(line.n);
  double mean = 0, squares = 0;
  if (line.params[1] != 0) {
    for (int64_t k = 0; k < line.n; ++k) mean += x[k];
    mean /= n;
  }
  for (int64_t k = 0; k < line.n; ++k) squares += (x[k] - mean) * (x[k] - mean);
  const double rstd = 1 / std::sqrt(squares / n + line.params[0]);
  for (int64_t k = 0; k < line.n; ++k)
    output(line, 0)[k] = (x[k] - mean) * rstd * (weight ? weight[k] : 1) + (bias ? bias[k] : 0);
  *output(line, 1) = mean;
  *output(line, 2) = rstd;
}

void backward(const Line& line) {
  const double *dy = input(line, 0), *x = input(line, 1), *weight = input(line, 4), n = static_cast<double>(line.n);
  const double mean = *input(line, 2), rstd = *input(line, 3);
  double sum = 0, product = 0;
  for (int64_t k = 0; k < line.n; ++k) {
    const double h = (x[k] - mean) * rstd, g = dy[k] * (weight ? weight[k] : 1);
    if (line.params[0] != 0) sum += g;
    product += g * h;
    if (line.out[1]) output(line, 1)[k] += dy[k] * h;
    if (line.out[2]) output(line, 2)[k] += dy[k];
  }
  for (int64_t k = 0; k < line.n; ++k) {
    const double h = (x[k] - mean) * rstd, g = dy[k] * (weight ? weight[k] : 1);
    output(line, 0)[k] = rstd * (g - sum / n - h * product / n);
  }
}

std::unique_ptr<Kernel> prepare(const KernelRequest& request, std::string& why_not) {
  LineSpec spec = layer_norm_lines(request, DType::F64, DType::F64);
  const bool grad = request.op == "_layer_norm_grad";
  spec.params.push_back(request.attrs[grad ? 1 : 2].truth() ? 1 : 0);
  spec.fn = grad ? &backward : &forward;
  spec.threads = false;
  return make_line_kernel(request, std::move(spec), why_not);
}

const RegisterKernel registered[] = {
    RegisterKernel({"_layer_norm", "reference", DeviceType::CPU, kReferencePriority, &prepare}),
    RegisterKernel({"_layer_norm_grad", "reference", DeviceType::CPU, kReferencePriority, &prepare}),
};

}  // namespace

}  // namespace hw
