// argsort: the order of the elements.
#include "op/math.h"

namespace hw {

static const RegisterOp op = OpDef("argsort")
                                 .doc("Returns the indices that sort the input along `dim`.")
                                 .in("input", "any shape")
                                 .attr("dim", int64_t{-1}, "the axis")
                                 .attr("descending", false, "largest first")
                                 .attr("stable", false, "accepted; equal elements always keep their order")
                                 .out("y")
                                 .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
                                   static const Op sort{"sort"};
                                   return {sort.all({in[0]}, {attrs[0].i64(), attrs[1].truth(), true})[1]};
                                 });

}  // namespace hw
