// masked_select: the elements where a mask is true.
#include "base/error.h"
#include "op/math.h"

namespace hw {

static const RegisterOp op =
    OpDef("masked_select")
        .doc("Returns the elements where `mask` is true, in row-major order; input and mask are broadcast.")
        .example(">>> hw.masked_select(hw.tensor([1, 2, 3]), hw.tensor([True, False, True]))\ntensor([1, 3])")
        .in("input", "any shape")
        .in("mask", "broadcasts with the input", boolean)
        .out("y")
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          static const Op nonzero{"nonzero"}, index{"index"};
          const Dims shape = broadcast_shapes(in[0].shape(), in[1].shape());
          const Dims flat{numel(shape)};
          Tensor where = nonzero({reshape(expand(in[1], shape), flat)});
          return {index({reshape(expand(in[0], shape), flat), reshape(where, {where.numel()})})};
        });

}  // namespace hw
