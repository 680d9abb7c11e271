// masked_scatter: elements of a source where a mask is true.
#include "base/error.h"
#include "op/math.h"

namespace hw {

static const RegisterOp op =
    OpDef("masked_scatter")
        .doc("Returns the input with the elements where `mask` is true replaced by the elements of `source`, in order.")
        .in("input", "any shape")
        .in("mask", "broadcasts to the input", boolean)
        .in("source", "at least as many elements as the mask has true")
        .inplace()
        .out("y")
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          static const Op nonzero{"nonzero"}, put{"index_put_"};
          check_runtime(in[0].dtype() == in[2].dtype(), "input is ", in[0].dtype(), ", source ", in[2].dtype());
          Tensor flat = reshape(nonzero({reshape(expand(in[1], in[0].shape()), {in[0].numel()})}), {-1});
          check_runtime(flat.numel() <= in[2].numel(), "the mask has ", flat.numel(), " elements set, source only ",
                        in[2].numel());
          Tensor values = narrow(reshape(in[2], {in[2].numel()}), 0, 0, flat.numel());
          return {reshape(put({reshape(in[0], {in[0].numel()}), values, flat}, {false}), in[0].shape())};
        });

}  // namespace hw
