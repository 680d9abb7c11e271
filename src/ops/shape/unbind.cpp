// unbind: views of each index of an axis.
#include "base/error.h"
#include "op/math.h"

namespace hw {

static const RegisterOp op = OpDef("unbind")
                                 .doc("Returns a view of every index along `dim`, without that axis.")
                                 .in("input", "any shape")
                                 .attr("dim", int64_t{0}, "the axis")
                                 .out("tensors...")
                                 .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
                                   static const Op select{"select"};
                                   check_runtime(in[0].ndim() > 0, "a 0-d tensor has no axis to unbind");
                                   const int64_t axis = normalize_axis(attrs[0].i64(), in[0].ndim());
                                   Tensors out;
                                   for (int64_t i = 0; i < in[0].shape()[static_cast<size_t>(axis)]; ++i)
                                     out.push_back(select({in[0]}, {axis, i}));
                                   return out;
                                 });

}  // namespace hw
