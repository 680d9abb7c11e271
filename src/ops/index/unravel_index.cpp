// unravel_index: the position along each axis that a flat index means.
#include "base/error.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op =
    OpDef("unravel_index")
        .doc(
            "Returns one tensor for each axis of `shape`, of the shape of the indices: the positions (int64) that the "
            "flat indices mean in a contiguous tensor of that shape. What lies outside wraps around.")
        .example(
            ">>> hw.unravel_index(hw.tensor([3, 5]), (2, 3))\n"
            "(tensor([1, 1]), tensor([0, 2]))")
        .in("indices", "any shape", integral)
        .attr_required("shape", AttrValue::Kind::Ints, "the shape that is indexed")
        .out("positions...")
        .method(false)
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          static const Op divide{"floor_divide"}, remainder{"remainder"};
          const Tensor indices = to(in[0], DType::I64);
          const Dims& shape = attrs[0].ints();
          for (int64_t n : shape) check(n >= 0, "a size cannot be negative, got ", shape);
          Tensors out;
          int64_t step = 1;
          for (size_t axis = shape.size(); axis-- > 0;) {
            const int64_t n = shape[axis];
            check_runtime(n > 0 || indices.numel() == 0, "shape ", shape, " has no elements to index");
            if (n == 0) {
              out.insert(out.begin(), indices.alias());
              continue;
            }
            out.insert(out.begin(), remainder({divide({indices, number(Scalar(step))}), number(Scalar(n))}));
            step *= n;
          }
          return out;
        });

}  // namespace hw
