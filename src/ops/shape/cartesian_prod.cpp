// cartesian_prod: every combination of elements.
#include "base/error.h"
#include "op/math.h"

namespace hw {

static const RegisterOp op = OpDef("cartesian_prod")
                                 .doc("Returns the combinations of the elements of 1-d tensors, one a row.")
                                 .in_list("tensors", "1-d")
                                 .out("y")
                                 .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
                                   static const Op grid{"meshgrid"}, stack{"stack"};
                                   for (const Tensor& t : in)
                                     check_runtime(t.ndim() == 1, "tensors must be 1-d, got ", t);
                                   if (in.size() == 1) return {in[0]};
                                   Tensors columns;
                                   for (const Tensor& t : grid.all(in)) columns.push_back(reshape(t, {t.numel()}));
                                   return {stack(columns, {int64_t{1}})};
                                 });

}  // namespace hw
