// Numbers beyond the range of a dtype: see the header.
#include "op/number_rule.h"

#include <cmath>
#include <limits>

#include "base/error.h"
#include "core/range.h"
#include "core/read_guard.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

std::string_view number_rule_name(NumberRule rule) {
  constexpr std::string_view names[] = {"exact", "wraps", "compares", "stores", "bounds"};
  return names[static_cast<size_t>(rule)];
}

static int64_t greatest(DType d) {
  return d == DType::Bool ? 1 : d == DType::U8 ? 255 : std::numeric_limits<int64_t>::max() >> (64 - 8 * dtype_size(d));
}
static int64_t least(DType d) { return d == DType::Bool || d == DType::U8 ? 0 : -greatest(d) - 1; }

[[noreturn]] static void refuse(std::string_view what, const Scalar& value, DType into) {
  if (is_inexact(into))
    fail(ErrorKind::Runtime, what, " ", value, " does not fit ", into,
         ": it overflows. Choose a wider dtype, or infinity.");
  fail(ErrorKind::Runtime, what, " ", value, " does not fit ", into, ", whose range is [", least(into), ", ",
       greatest(into), "]. Choose a wider dtype, such as headwater.int64, or another number.");
}

void check_stored(std::string_view what, const Scalar& value, DType into) {
  if (fits(value, into)) return;
  check_runtime(value.kind() != Scalar::Kind::Complex || is_complex(into), what, " ", value, " does not fit ", into,
                ": it is complex. Give a real number, or use headwater.complex64.");
  refuse(what, value, into);
}

/// The number at `at`, checked against the dtype in which the op computes.
static void fit_number(const OpDef& op, std::span<Tensor> in, size_t at) {
  const NumberRule rule = op.number_rule();
  if (op.promotion() == Promote::No && rule != NumberRule::Stores) return;
  std::vector<TensorSpec> specs(in.size());
  for (size_t i = 0; i < in.size(); ++i)
    if (in[i].defined()) specs[i] = in[i].spec();
  const DType into = op.promotion() == Promote::No ? specs[0].dtype : compute_dtype(op, specs);
  const Scalar value = in[at].item();
  const std::string& name = op.input_def(at, in.size()).name;
  try {
    if (rule == NumberRule::Stores) return check_stored(name, value, into);
    if (!is_integral(into) || into == DType::I64) return;
    const int64_t v = value.i64();
    if (v >= least(into) && v <= greatest(into)) return;
    if (rule != NumberRule::Compares) refuse(name, value, into);
    const double infinity = std::numeric_limits<double>::infinity();
    in[at] = number(Scalar(v < 0 ? -infinity : infinity));
  } catch (const Error& e) {
    throw Error(e.kind(), text(call_text(op, specs, op.default_attrs()), ": ", e.message()));
  }
}

void number_detail::fit(const OpDef& op, std::span<Tensor> in) {
  for (size_t i = 0; i < in.size(); ++i) {
    const Tensor& t = in[i];
    if (!t.defined() || !t->wrapped || is_abstract(t)) continue;
    if (op.promotion() == Promote::No && i == 0) continue;
    if (t.dtype() == DType::I64) {
      const int64_t v = *static_cast<const int64_t*>(t.data());
      if (v >= 0 && v <= 127) continue;  // fits everything
    } else if (t.dtype() == DType::Bool) {
      continue;
    }
    fit_number(op, in, i);
  }
}

void check_number_attrs(const InferCtx& c) {
  if (c.in.empty()) return;  // creation checks its own
  for (size_t i = 0; i < c.attrs.size() && i < c.op.attrs().size(); ++i) {
    const AttrValue& a = c.attrs[i];
    if (a.kind() != AttrValue::Kind::Scalar || c.op.kind() != OpKind::Kernel) continue;
    const Scalar& value = a.scalar();
    DType into = c.compute == DType::None ? c.in[0].dtype : c.compute;
    if (into == DType::F16 || into == DType::BF16) into = DType::F32;  // what such kernels compute in
    const std::string& name = c.op.attrs()[i].name;
    check_runtime(value.kind() != Scalar::Kind::Complex || value.c128().imag() == 0, name, " is ", value,
                  ": complex numbers are not implemented here. Multiply a tensor by it first.");
    const NumberRule rule = c.op.number_rule();
    if (rule == NumberRule::Bounds) {  // min_val, max_val
      const bool beyond =
          is_integral(into) && (name.starts_with("max") ? value.f64() < static_cast<double>(least(into))
                                                        : value.f64() > static_cast<double>(greatest(into)));
      if (beyond) refuse(name, value, into);
      continue;
    }
    if (into == DType::Bool) {
      check_runtime(value.f64() >= 0 || rule == NumberRule::Wraps, name, " is ", value,
                    ", which is no truth value. Give True or False.");
      continue;
    }
    if (!fits(value, into)) refuse(name, value, into);
  }
}

}  // namespace hw
