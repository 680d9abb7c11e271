// arange: numbers at even distances.
#include "base/error.h"
#include "op/cost.h"
#include "op/number_rule.h"
#include "op/rules.h"

namespace hw {

static bool is_whole(const Scalar& s) { return s.kind() == Scalar::Kind::Int || s.kind() == Scalar::Kind::Bool; }

static DType dtype_of(const InferCtx& c) {
  if (!c.attr("dtype").none()) return c.attr("dtype").dtype();
  bool whole = is_whole(c.attr("start").scalar()) && is_whole(c.attr("step").scalar());
  if (!c.attr("end").none()) whole = whole && is_whole(c.attr("end").scalar());
  return whole ? DType::I64 : default_dtype();
}

static Dims shape_of(const InferCtx& c) {
  const bool one = c.attr("end").none();
  const Scalar start = one ? Scalar(0) : c.attr("start").scalar();
  const Scalar &end = one ? c.attr("start").scalar() : c.attr("end").scalar(), &step = c.attr("step").scalar();
  for (const Scalar* s : {&start, &end, &step})
    check_runtime(s->c128().imag() == 0, "start, end and step must be real, got ", *s);
  check_runtime(step.f64() != 0, "step must not be zero");
  check_runtime(std::isfinite(start.f64()) && std::isfinite(end.f64()) && std::isfinite(step.f64()),
                "the bounds must be finite, got ", start, " and ", end);
  check_runtime((end.f64() - start.f64()) * step.f64() >= 0, "step ", step, " leads away from ", start, " to ", end);
  if (is_whole(start) && is_whole(end) && is_whole(step)) {
    // In 128 bits: the ends may lie 2^64 apart.
    const __int128 distance = static_cast<__int128>(end.i64()) - start.i64(), by = step.i64();
    const __int128 n = distance / by + (distance % by != 0);
    check_runtime(n < static_cast<__int128>(1) << 62, "the range has too many elements");
    if (n > 0) check_stored("the last number,", Scalar(static_cast<int64_t>(start.i64() + (n - 1) * by)), dtype_of(c));
    return {static_cast<int64_t>(n)};
  }
  const double n = std::ceil((end.f64() - start.f64()) / step.f64());
  check_runtime(n < 0x1p62, "the range has too many elements");
  const DType into = dtype_of(c);
  if (n > 0 && !is_inexact(into)) {
    check_stored("the first number,", start, into);
    check_stored("the last number,", Scalar(start.f64() + (n - 1) * step.f64()), into);
  }
  return {static_cast<int64_t>(n)};
}

static const RegisterOp op = OpDef("arange")
                                 .doc(
                                     "Returns start, start + step, ... before end. Called with one number, that is the "
                                     "end. The dtype is int64 if all numbers are integers.")
                                 .example(">>> hw.arange(1, 4)\ntensor([1, 2, 3])")
                                 .attr("start", Scalar(0), "the first number")
                                 .attr_none("end", AttrValue::Kind::Scalar, "the bound, which is left out")
                                 .attr("step", Scalar(1), "the distance, not zero")
                                 .attr_none("dtype", AttrValue::Kind::DType, "the dtype")
                                 .keyword()
                                 .out("y", dtype_of, shape_of)
                                 .flops(cost::bandwidth_bound)
                                 .sbp(sbp::broadcast_only)
                                 .no_grad("it has no tensor input")
                                 .onnx("Range");

}  // namespace hw
