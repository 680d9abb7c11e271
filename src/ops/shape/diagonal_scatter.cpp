// diagonal_scatter: a copy with a diagonal replaced.
#include "base/error.h"
#include "op/math.h"

namespace hw {

static const RegisterOp op =
    OpDef("diagonal_scatter")
        .doc("Returns a copy of the input with `src` in place of the diagonal of the axes dim1 and dim2.")
        .example(
            ">>> hw.diagonal_scatter(hw.zeros(2, 2), hw.ones(2))\n"
            "tensor([[1., 0.],\n        [0., 1.]])")
        .in("input", "at least two axes")
        .in("src", "the shape of the diagonal")
        .attr("offset", int64_t{0}, "above (positive) or below the main diagonal")
        .attr("dim1", int64_t{0}, "the first axis")
        .attr("dim2", int64_t{1}, "the second axis")
        .out("y")
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          static const Op diagonal{"diagonal"}, copy{"copy_"};
          const Tensor y = clone(in[0]);
          const Tensor part = diagonal({y}, {attrs[0], attrs[1], attrs[2]});
          check_runtime(in[1].shape() == part.shape(), "src has shape ", in[1].shape(), ", the diagonal ",
                        part.shape());
          copy.inplace({part, in[1]});
          return {y};
        });

}  // namespace hw
