// From a request to a plan: which functor, computing in which dtype, over which strides.
#include "core/visit.h"
#include "kernels/elementwise/driver.h"

namespace hw {

std::string_view functor_name(std::string_view op, const Attrs& attrs) {
  for (const AttrValue& a : attrs) {
    if (a.kind() != AttrValue::Kind::Text) continue;
    if (op == "gelu" && a.text() == "tanh") return "gelu_tanh";
    if (op == "gelu_grad" && a.text() == "tanh") return "gelu_tanh_grad";
    if (op == "div" && a.text() == "floor") return "floor_divide";
    if (op == "div" && a.text() == "trunc") return "div_trunc";
  }
  const bool scaled =
      !attrs.empty() && !attrs[0].none() && attrs[0].kind() != AttrValue::Kind::Text && attrs[0].f64() != 1;
  if (op == "add" && scaled) return "add_scaled";
  if (op == "sub" && scaled) return "sub_scaled";
  return op;
}

LoopParams loop_params(const Attrs& attrs) {
  LoopParams params;
  for (size_t i = 0; i < attrs.size() && i < params.size(); ++i) {
    const AttrValue::Kind kind = attrs[i].kind();
    if (kind != AttrValue::Kind::Bool && kind != AttrValue::Kind::Int && kind != AttrValue::Kind::Float &&
        kind != AttrValue::Kind::Scalar)
      continue;
    params[i] = {attrs[i].f64(), attrs[i].i64(), true};
  }
  return params;
}

/// The dtype to compute in: 16-bit floats as f32; integers as f32 for functors that are only defined for floats.
static const ElementwiseEntry* choose_loop(const KernelRequest& request, FindLoop find, std::string_view functor) {
  DType d = request.compute;
  if (d == DType::None)
    for (const TensorSpec& s : request.inputs) d = d == DType::None ? s.dtype : s.given() ? promote(d, s.dtype) : d;
  if (is_reduced(d)) d = DType::F32;
  const ElementwiseEntry* entry = find(functor, d);
  if (!entry && !is_inexact(d)) {
    const bool wide = !request.outputs.empty() && request.outputs[0].dtype == DType::F64;
    entry = find(functor, wide ? DType::F64 : DType::F32);
  }
  return entry;
}

/// The functor for these attributes and dtypes.
static std::string_view functor_of(const KernelRequest& request) {
  const DType d = request.compute;
  const std::string_view name = functor_name(request.op, request.attrs);
  if (name == "add_scaled" && d == DType::Bool && request.attrs[0].f64() != 0)
    return "add";  // any factor but 0 is True
  // Shorter polynomials where the result is rounded to 16 bits.
  if (request.op == "gelu" && is_reduced(request.outputs[0].dtype))
    return name == "gelu" ? "gelu_16bit" : "gelu_tanh_16bit";
  if (request.op == "nextafter" && is_reduced(d)) return d == DType::F16 ? "nextafter_f16" : "nextafter_bf16";
  return name;
}

/// The greatest finite number of a dtype that is computed in a wider one.
static LoopParam greatest(DType d) {
  const double v = d == DType::F16 ? 65504.0 : 3.38953138925153547590470800371487867e38;
  return {v, INT64_MAX, true};
}

static Dims strides_of(const TensorSpec& s) {
  return s.strides.size() == s.shape.size() ? s.strides : contiguous_strides(s.shape);
}

bool make_elementwise_plan(const KernelRequest& request, FindLoop find, ElementwisePlan& plan, std::string& why_not) {
  const std::string_view functor = functor_of(request);
  plan.entry = choose_loop(request, find, functor);
  if (!plan.entry) {
    why_not = text("no functor ", functor, " for ", request.compute);
    return false;
  }
  if (static_cast<int>(request.inputs.size()) != plan.entry->arity || request.outputs.size() != 1) {
    why_not = text("functor ", functor, " takes ", plan.entry->arity, " inputs, not ", request.inputs.size());
    return false;
  }
  const TensorSpec& out = request.outputs[0];
  plan.params = loop_params(request.attrs);
  if (functor == "nan_to_num" && is_reduced(out.dtype)) {
    if (!plan.params[1].given) plan.params[1] = greatest(out.dtype);
    if (!plan.params[2].given) plan.params[2] = {-greatest(out.dtype).f, INT64_MIN, true};
  }
  plan.shape = out.shape;
  plan.dtypes = {out.dtype};
  plan.strides = {strides_of(out)};
  for (const TensorSpec& s : request.inputs) {
    if (!s.given() || s.shape.size() > out.shape.size()) {
      why_not = s.given() ? "an input has more axes than the output" : "an input is missing";
      return false;
    }
    plan.dtypes.push_back(s.dtype);
    plan.strides.push_back(broadcast_strides(s.shape, strides_of(s), out.shape));
  }
  const bool divides =
      functor == "floor_divide" || functor == "div_trunc" || functor == "remainder" || functor == "fmod";
  plan.checks_divisor = divides && !is_inexact(plan.entry->compute);
  return true;
}

void report_zero_divisor(DType dtype, const void* divisor, int64_t n, LaunchStatus* status) {
  bool zero = false;
  visit_size(dtype_size(dtype), [&]<class T>(Type<T>) {
    const T* d = static_cast<const T*>(divisor);
    for (int64_t k = 0; k < n; ++k) zero |= d[k] == T(0);
  });
  if (zero && status) status->report("ZeroDivisionError: an integer is divided by zero");
}

}  // namespace hw
