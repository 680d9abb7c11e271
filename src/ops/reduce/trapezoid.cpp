// trapezoid: the integral by trapezoids.
#include "op/math.h"
#include "op/rules.h"
#include "ops/reduce/trapezoids.h"

namespace hw {

static Tensors over_places(std::span<const Tensor> in, const Attrs& attrs) {
  const Tensor areas = trapezoids(in, attrs);
  return {sum(areas, {normalize_axis(attrs[1].i64(), in[0].ndim())})};
}

static const RegisterOp op = OpDef("trapezoid")
                                 .doc(
                                     "Returns the integral of y along the axis `dim` by the trapezoidal rule: at the "
                                     "places x, or at a distance dx.")
                                 .example(">>> hw.trapezoid(hw.tensor([1.0, 2.0, 3.0]))\ntensor(4.)")
                                 .in("y", "at least one axis", numeric)
                                 .in_optional("x", "the places: y's shape, or [n] along the axis", numeric)
                                 .attr("dx", Scalar(1), "the distance between places, without x")
                                 .keyword()
                                 .attr("dim", int64_t{-1}, "the axis")
                                 .out("area")
                                 .method(false)
                                 .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
                                   const Tensor& y = in[0];
                                   if (in[1].defined() || y.ndim() == 0 || y.numel() == 0)
                                     return over_places(in, attrs);
                                   const int64_t dim = normalize_axis(attrs[1].i64(), y.ndim());
                                   const Tensor ends = narrow(y, dim, 0, 1) + narrow(y, dim, y.size(dim) - 1, 1);
                                   const Tensor all = sum(y, {dim}) - squeeze(ends, dim) * Scalar(0.5);
                                   return {all * attrs[0].scalar()};
                                 });

}  // namespace hw
