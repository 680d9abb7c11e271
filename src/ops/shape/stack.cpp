// stack: tensors along a new axis.
#include "base/error.h"
#include "op/math.h"

namespace hw {

static const RegisterOp op =
    OpDef("stack")
        .doc("Returns the tensors side by side along a new axis `dim`.")
        .example(">>> hw.stack([hw.tensor([1, 2]), hw.tensor([3, 4])])\ntensor([[1, 2],\n        [3, 4]])")
        .in_list("tensors", "all of one shape")
        .attr("dim", int64_t{0}, "where the new axis will be")
        .out("y")
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          check_runtime(!in.empty(), "the list of tensors is empty");
          for (size_t i = 1; i < in.size(); ++i)
            check_runtime(in[i].shape() == in[0].shape(), "tensors[", static_cast<int64_t>(i), "] is ", in[i],
                          ", tensors[0] is ", in[0], ". All must have one shape.");
          const int64_t axis = normalize_axis(attrs[0].i64(), in[0].ndim() + 1);
          Tensors rows;
          for (const Tensor& t : in) rows.push_back(unsqueeze(t, axis));
          return {cat(rows, axis)};
        });

}  // namespace hw
