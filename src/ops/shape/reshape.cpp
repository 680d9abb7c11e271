// reshape: another shape for the same elements; a view where the strides allow it, else a copy.
#include "op/math.h"
#include "op/rules.h"
#include "ops/shape/view_strides.h"

namespace hw {

static const RegisterOp op = OpDef("reshape")
                                 .doc(
                                     "Returns the elements in row-major order under another shape. One size may be -1 "
                                     "and is worked out. The result is a "
                                     "view where the strides allow it, otherwise a copy.")
                                 .in("input", "any shape")
                                 .attr_required("shape", AttrValue::Kind::Ints, "the new shape")
                                 .varargs()
                                 .out("y")
                                 .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
                                   static const Op view{"view"};
                                   Dims shape = resolved_shape(in[0].shape(), attrs[0].ints()), strides;
                                   if (view_strides(in[0].shape(), in[0].strides(), shape, strides))
                                     return {view({in[0]}, {attrs[0].ints()})};
                                   return {view({clone(in[0])}, {attrs[0].ints()})};
                                 });

}  // namespace hw
