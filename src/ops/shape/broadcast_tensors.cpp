// broadcast_tensors: all inputs expanded to one shape.
#include "op/math.h"

namespace hw {

static const RegisterOp op = OpDef("broadcast_tensors")
                                 .doc("Returns the inputs expanded to their common broadcast shape.")
                                 .in_list("tensors", "shapes that broadcast together")
                                 .out("tensors...")
                                 .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
                                   Dims shape;
                                   for (const Tensor& t : in) shape = broadcast_shapes(shape, t.shape());
                                   Tensors out;
                                   for (const Tensor& t : in) out.push_back(expand(t, shape));
                                   return out;
                                 });

}  // namespace hw
