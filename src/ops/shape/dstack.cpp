// dstack: tensors joined along the third axis.
#include "base/error.h"
#include "op/math.h"

namespace hw {

static const RegisterOp op = OpDef("dstack")
                                 .doc("Returns the tensors joined along the third axis.")
                                 .in_list("tensors", "shapes that fit")
                                 .out("y")
                                 .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
                                   static const Op lift{"atleast_3d"};
                                   check_runtime(!in.empty(), "the list of tensors is empty");
                                   Tensors rows;
                                   for (const Tensor& t : in) rows.push_back(lift({t}));
                                   return {cat(rows, 2)};
                                 });

}  // namespace hw
