// vstack: tensors joined along the first axis, 1-d tensors as rows.
#include "base/error.h"
#include "op/math.h"

namespace hw {

static const RegisterOp op = OpDef("vstack")
                                 .doc("Returns the tensors joined along the first axis, 1-d tensors as rows.")
                                 .in_list("tensors", "shapes that fit")
                                 .out("y")
                                 .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
                                   static const Op lift{"atleast_2d"};
                                   check_runtime(!in.empty(), "the list of tensors is empty");
                                   Tensors rows;
                                   for (const Tensor& t : in) rows.push_back(lift({t}));
                                   return {cat(rows, 0)};
                                 });

}  // namespace hw
