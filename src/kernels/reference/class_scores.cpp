// _class_max, _class_sums and their gradient, in double.
#include "kernels/loss/class_scores.h"

#include <limits>

namespace hw {

std::unique_ptr<Kernel> make_class_kernel(const KernelRequest& request, LineFn fn, DType d, DType wide, bool threads,
                                          std::string& why_not) {
  LineSpec spec;
  spec.axes = {request.inputs[0].ndim() == 1 ? 0 : 1};
  spec.fn = fn;
  spec.in.assign(request.inputs.size(), {LineRole::PerLine, wide});
  spec.in[0] = {LineRole::Whole, d};
  spec.in[1] = {LineRole::PerLine, DType::I64};
  spec.out.assign(request.outputs.size(), {LineRole::PerLine, wide});
  if (request.op == "_class_sums_grad") spec.out[0] = {LineRole::Whole, d};
  for (size_t i = 0; i < 4; ++i) spec.params.push_back(request.attrs[i].f64());
  for (size_t i = 4; i < 7; ++i) spec.params.push_back(static_cast<double>(request.attrs[i].i64()));
  spec.cost = 4;
  spec.threads = threads;
  return make_line_kernel(request, std::move(spec), why_not);
}

namespace {

const double* row(const Line& line) { return static_cast<const double*>(line.in[0]); }
double number(const Line& line, size_t i) { return *static_cast<const double*>(line.in[i]); }

void class_max(const Line& line) {
  const ClassScores scores(line.params);
  const double* x = row(line);
  const int64_t t = scores.place(line);
  double top = t < 0 ? -std::numeric_limits<double>::infinity() : scores.target(x[t]);
  for (int64_t k = 0; k < line.n; ++k)
    if (k != t) top = std::fmax(top, scores.scale * x[k]);
  *static_cast<double*>(line.out[0]) = top;
}

void class_sums(const Line& line) {
  const ClassScores scores(line.params);
  const double *x = row(line), shift = number(line, 2);
  const int64_t t = scores.place(line);
  const double target = t < 0 ? 0 : scores.target(x[t]);
  double sum = t < 0 ? 0 : std::exp(target - shift);
  for (int64_t k = 0; k < line.n; ++k)
    if (k != t) sum += std::exp(scores.scale * x[k] - shift);
  *static_cast<double*>(line.out[0]) = sum;
  *static_cast<double*>(line.out[1]) = target;
}

void class_sums_grad(const Line& line) {
  const ClassScores scores(line.params);
  const double *x = row(line), shift = number(line, 2), dsum = number(line, 3), dtarget = number(line, 4);
  const int64_t t = scores.place(line);
  double* dx = static_cast<double*>(line.out[0]);
  for (int64_t k = 0; k < line.n; ++k)
    dx[k] = k == t ? (dsum * std::exp(scores.target(x[k]) - shift) + dtarget) * scores.slope(x[k])
                   : dsum * scores.scale * std::exp(scores.scale * x[k] - shift);
}

template <LineFn kFunction>
std::unique_ptr<Kernel> prepare(const KernelRequest& request, std::string& why_not) {
  return make_class_kernel(request, kFunction, DType::F64, DType::F64, false, why_not);
}

const RegisterKernel registered[] = {
    RegisterKernel({"_class_max", "reference", DeviceType::CPU, kReferencePriority, &prepare<&class_max>}),
    RegisterKernel({"_class_sums", "reference", DeviceType::CPU, kReferencePriority, &prepare<&class_sums>}),
    RegisterKernel({"_class_sums_grad", "reference", DeviceType::CPU, kReferencePriority, &prepare<&class_sums_grad>}),
};

}  // namespace

}  // namespace hw
