// aminmax: the smallest and the largest element.
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op =
    OpDef("aminmax")
        .doc("Returns the smallest and the largest element along the axis `dim` (of all elements by default).")
        .example(">>> hw.aminmax(hw.tensor([3, 1, 2])).max\ntensor(3)")
        .in("input", "any shape with elements along the reduced axis", real_types)
        .attr_none("dim", AttrValue::Kind::Int, "the axis; None: all")
        .keyword()
        .attr("keepdim", false, "whether the axis stays with size 1")
        .out("min")
        .out("max")
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          static const Op amin{"amin"};
          Dims dim = attrs[0].none() ? Dims() : Dims{attrs[0].i64()};
          return {amin({in[0]}, {dim, attrs[1]}), amax(in[0], dim, attrs[1].truth())};
        });

}  // namespace hw
