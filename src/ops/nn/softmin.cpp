// softmin: softmax of the negated input.
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op =
    OpDef("softmin")
        .doc("Returns exp(-x) / sum(exp(-x)) along the axis `dim`.")
        .example(">>> hw.softmin(hw.tensor([0.0, 0.0]), dim=0)\ntensor([0.5000, 0.5000])")
        .in("input", "any shape", real_types)
        .attr_required("dim", AttrValue::Kind::Int, "the axis")
        .attr_none("dtype", AttrValue::Kind::DType, "the input is converted to this first")
        .out("y")
        .method(false)
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          static const Op softmax{"softmax"};
          return {softmax({neg(attrs[1].none() ? in[0] : to(in[0], attrs[1].dtype()))}, {attrs[0]})};
        });

}  // namespace hw
