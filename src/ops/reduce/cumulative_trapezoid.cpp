// cumulative_trapezoid: running integrals by trapezoids.
#include "op/math.h"
#include "op/rules.h"
#include "ops/reduce/trapezoids.h"

namespace hw {

static const RegisterOp op =
    OpDef("cumulative_trapezoid")
        .doc(
            "Returns the integrals of y along the axis `dim` from its start up to each further element, by the "
            "trapezoidal "
            "rule: at the places x, or at a distance dx. The axis loses one element.")
        .example(">>> hw.cumulative_trapezoid(hw.tensor([1.0, 2.0, 3.0]))\ntensor([1.5000, 4.0000])")
        .in("y", "at least one axis", numeric)
        .in_optional("x", "the places: y's shape, or [n] along the axis", numeric)
        .attr("dx", Scalar(1), "the distance between places, without x")
        .keyword()
        .attr("dim", int64_t{-1}, "the axis")
        .out("area")
        .method(false)
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          static const Op cumsum{"cumsum"};
          const Tensor areas = trapezoids(in, attrs);
          return {cumsum({areas}, {attrs[1].i64()})};
        });

}  // namespace hw
