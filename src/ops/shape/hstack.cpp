// hstack: tensors joined along the second axis (1-d tensors along their only one).
#include "base/error.h"
#include "op/math.h"

namespace hw {

static const RegisterOp op =
    OpDef("hstack")
        .doc("Returns the tensors joined along the second axis (1-d tensors along their only one).")
        .in_list("tensors", "shapes that fit")
        .out("y")
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          static const Op lift{"atleast_1d"};
          check_runtime(!in.empty(), "the list of tensors is empty");
          Tensors rows;
          for (const Tensor& t : in) rows.push_back(lift({t}));
          return {cat(rows, rows[0].ndim() == 1 ? 0 : 1)};
        });

}  // namespace hw
