// Canonical form and recipes of reductions; see the header.
#include "kernels/reduce/plan.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/visit.h"

namespace hw {

Dims reduced_axes(const AttrValue& dim, int64_t ndim) {
  if (dim.none()) return normalize_axes({}, ndim);
  if (dim.kind() == AttrValue::Kind::Int) return normalize_axes(Dims{dim.i64()}, ndim);
  return normalize_axes(dim.ints(), ndim);
}

ReducePlan make_reduce_plan(const TensorSpec& in, const TensorSpec& out, const Dims& axes) {
  const bool keepdim = out.ndim() == in.ndim();
  Dims kept_shape, kept_in, kept_out, reduced_shape, reduced_in;
  size_t out_axis = 0;
  for (size_t a = 0; a < in.shape.size(); ++a) {
    if (std::find(axes.begin(), axes.end(), static_cast<int64_t>(a)) != axes.end()) {
      reduced_shape.push_back(in.shape[a]);
      reduced_in.push_back(in.strides[a]);
      out_axis += keepdim;
      continue;
    }
    kept_shape.push_back(in.shape[a]);
    kept_in.push_back(in.strides[a]);
    kept_out.push_back(out.strides[out_axis++]);
  }
  const Dims kept[] = {kept_in, kept_out}, reduced[] = {reduced_in};
  return {make_nest(kept_shape, kept), make_nest(reduced_shape, reduced)};
}

/// Integers and bool are reduced as i64, 16-bit floats as f32.
static DType wide(DType d) {
  if (is_reduced(d)) return DType::F32;
  return is_integral(d) ? DType::I64 : d;
}

static bool norm_recipe(const KernelRequest& request, ReduceRecipe& r, std::string& why_not) {
  const double ord = request.attrs[0].f64();
  r.axes = reduced_axes(request.attrs[1], request.inputs[0].ndim());
  r.compute = wide(request.outputs[0].dtype);
  if (ord == 2)
    r.kind = ReduceKind::SumSquares, r.finish = ReduceRecipe::Finish::Root;
  else if (ord == 1)
    r.kind = ReduceKind::SumAbs;
  else if (ord == 0)
    r.kind = ReduceKind::CountNonzero;
  else if (std::isinf(ord))
    r.kind = ord > 0 ? ReduceKind::MaxAbs : ReduceKind::MinAbs;
  else
    return why_not = "only the orders 0, 1, 2, inf and -inf", false;
  return true;
}

bool reduce_recipe(const KernelRequest& request, ReduceRecipe& r, std::string& why_not) {
  if (request.inputs.empty() || request.outputs.empty()) return why_not = "not a reduction", false;
  const DType in = request.inputs[0].dtype, out = request.outputs[0].dtype;
  if (is_complex(in) && request.op == "_vector_norm") return why_not = "complex input", false;
  if (request.op == "_vector_norm") return norm_recipe(request, r, why_not);
  r.compute = wide(out);
  if (request.op == "sum" || request.op == "mean") {
    r.kind = out == DType::Bool ? ReduceKind::Any : ReduceKind::Sum;
    if (request.op == "mean") r.finish = ReduceRecipe::Finish::Divide;
  } else if (request.op == "prod") {
    r.kind = out == DType::Bool ? ReduceKind::All : ReduceKind::Prod;
  } else if (request.op == "amax") {
    r.kind = out == DType::Bool ? ReduceKind::Any : ReduceKind::Max;
  } else if (request.op == "amin") {
    r.kind = out == DType::Bool ? ReduceKind::All : ReduceKind::Min;
  } else if (request.op == "any" || request.op == "all") {
    r.kind = request.op == "any" ? ReduceKind::Any : ReduceKind::All;
    r.compute = DType::Bool;
  } else if (request.op == "_var_mean") {
    r.kind = ReduceKind::Moments;
    r.correction = request.attrs[2].f64();
    if (request.attrs[3].truth()) r.finish = ReduceRecipe::Finish::Deviation;
  } else if (request.op == "logsumexp") {
    r.kind = ReduceKind::LogSumExp;
  } else {
    return why_not = "not a reduction of one value per element", false;
  }
  r.axes = reduced_axes(request.attrs[0], request.inputs[0].ndim());
  return true;
}

template <class T>
static void finish_as(ReduceRecipe::Finish finish, T* v, int64_t n, int64_t count) {
  using std::sqrt;
  if (finish == ReduceRecipe::Finish::Divide)
    for (int64_t k = 0; k < n; ++k) v[k] = count ? v[k] / T(count) : T(std::numeric_limits<double>::quiet_NaN());
  else
    for (int64_t k = 0; k < n; ++k) v[k] = sqrt(v[k]);
}

void finish_reduction(ReduceRecipe::Finish finish, DType dtype, void* values, int64_t n, int64_t count) {
  if (finish == ReduceRecipe::Finish::None) return;
  switch (dtype) {
    case DType::F32: return finish_as(finish, static_cast<float*>(values), n, count);
    case DType::F64: return finish_as(finish, static_cast<double*>(values), n, count);
    case DType::C64: return finish_as(finish, static_cast<std::complex<float>*>(values), n, count);
    case DType::C128: return finish_as(finish, static_cast<std::complex<double>*>(values), n, count);
    default: bug("a reduction to ", dtype, " cannot be divided");
  }
}

}  // namespace hw
