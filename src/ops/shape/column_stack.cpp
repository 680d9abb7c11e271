// column_stack: tensors as columns.
#include "base/error.h"
#include "op/math.h"

namespace hw {

static const RegisterOp op = OpDef("column_stack")
                                 .doc("Returns the tensors joined along the second axis, 1-d tensors as columns.")
                                 .in_list("tensors", "shapes that fit")
                                 .out("y")
                                 .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
                                   check_runtime(!in.empty(), "the list of tensors is empty");
                                   Tensors columns;
                                   for (const Tensor& t : in)
                                     columns.push_back(t.ndim() <= 1 ? reshape(t, {t.numel(), 1}) : t);
                                   return {cat(columns, 1)};
                                 });

}  // namespace hw
