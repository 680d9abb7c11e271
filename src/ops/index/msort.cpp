// msort: sort along the first axis.
#include "op/math.h"

namespace hw {

static const RegisterOp op = OpDef("msort")
                                 .doc("Returns the input sorted along its first axis.")
                                 .in("input", "any shape")
                                 .out("y")
                                 .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
                                   static const Op sort{"sort"};
                                   return {sort.all({in[0]}, {int64_t{0}, false, true})[0]};
                                 });

}  // namespace hw
