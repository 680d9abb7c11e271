// cross: the cross product of vectors with three elements.
#include "base/error.h"
#include "op/math.h"

namespace hw {

static const RegisterOp op =
    OpDef("cross")
        .doc(
            "Returns the cross products of the vectors along `dim`, which has three elements; without dim, along the "
            "first axis of that size.")
        .example(">>> hw.cross(hw.tensor([1, 0, 0]), hw.tensor([0, 1, 0]))\ntensor([0, 0, 1])")
        .in("input", "three elements along `dim`", numeric)
        .in("other", "as many axes as the input, of sizes that broadcast", numeric)
        .attr_none("dim", AttrValue::Kind::Int, "the axis; None: the first of size 3")
        .out("y")
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          static const Op roll{"roll"};
          const Tensor &a = in[0], &b = in[1];
          check_runtime(a.ndim() == b.ndim(), "both inputs must have the same number of axes, got ", a, " and ", b);
          int64_t axis = 0;
          if (attrs[0].none()) {
            while (axis < a.ndim() && a.size(axis) != 3) ++axis;
            check_runtime(axis < a.ndim(), "no axis of ", a, " has three elements");
          } else {
            axis = normalize_axis(attrs[0].i64(), a.ndim());
          }
          check_runtime(a.ndim() > 0 && a.size(axis) == 3 && b.size(axis) == 3, "the axis ", axis,
                        " must have three elements, got ", a, " and ", b);
          auto next = [axis](const Tensor& x, int64_t by) { return roll({x}, {Dims{-by}, Dims{axis}}); };
          return {next(a, 1) * next(b, 2) - next(a, 2) * next(b, 1)};
        });

}  // namespace hw
