// inner: sums of products over the last axes.
#include "base/error.h"
#include "op/math.h"

namespace hw {

static const RegisterOp op =
    OpDef("inner")
        .doc("Returns the sums of products over the last axis of both inputs; with a 0-d input, the product.")
        .example(">>> hw.inner(hw.tensor([1, 2]), hw.tensor([3, 4]))\ntensor(11)")
        .in("input", "[..., n]", numeric)
        .in("other", "[..., n]", numeric)
        .numbers(NumberRule::Wraps)
        .out("y")
        .composite([](std::span<const Tensor> in, const Attrs&) -> Tensors {
          static const Op tensordot{"tensordot"};
          if (in[0].ndim() == 0 || in[1].ndim() == 0) return {in[0] * in[1]};
          check_runtime(in[0].size(-1) == in[1].size(-1), "the last axes differ: ", in[0], " and ", in[1]);
          return {tensordot({in[0], in[1]}, {Dims{-1}, Dims{-1}})};
        });

}  // namespace hw
