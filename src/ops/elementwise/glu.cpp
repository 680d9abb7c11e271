// glu: a half gated by the other.
#include "base/error.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("glu")
                                 .doc("Splits input in two halves a and b along `dim` and returns a * sigmoid(b).")
                                 .in("input", "the size of axis `dim` is even", floating)
                                 .attr("dim", -1, "the axis to halve")
                                 .out("y")
                                 .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
                                   const Tensor& x = in[0];
                                   check_runtime(x.ndim() > 0, "glu needs at least one axis, got a 0-d tensor");
                                   int64_t dim = normalize_axis(attrs[0].i64(), x.ndim()),
                                           size = x.shape()[static_cast<size_t>(dim)];
                                   check_runtime(size % 2 == 0, "axis ", dim, " must have an even size, got ", size);
                                   return {narrow(x, dim, 0, size / 2) * sigmoid(narrow(x, dim, size / 2, size / 2))};
                                 });

}  // namespace hw
