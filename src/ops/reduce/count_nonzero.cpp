// count_nonzero: how many elements are not zero.
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op =
    OpDef("count_nonzero")
        .doc("Returns the number of elements that are not zero, as int64, over the axes `dim` (all axes by default).")
        .example(">>> hw.count_nonzero(hw.tensor([[0, 4], [3, 2]]), dim=0)\ntensor([1, 2])")
        .in("input", "any shape")
        .attr_none("dim", AttrValue::Kind::Ints, "axis or axes; None: all")
        .out("y")
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          return {sum(to(in[0], DType::Bool), attrs[0].none() ? Dims() : attrs[0].ints())};
        });

}  // namespace hw
