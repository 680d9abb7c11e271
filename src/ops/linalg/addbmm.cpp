// addbmm: the sum of a batch of matrix products, added to a matrix.
#include "base/error.h"
#include "op/math.h"

namespace hw {

static const RegisterOp op =
    OpDef("addbmm")
        .doc(
            "Returns beta * input + alpha * sum over b of batch1[b] @ batch2[b]. With beta = 0 the input is not read, "
            "not even its NaNs.")
        .in("input", "a shape that broadcasts to [n, p]", numeric)
        .in("batch1", "[b, n, m]", numeric)
        .in("batch2", "[b, m, p]", numeric)
        .attr("beta", Scalar(1), "factor of input")
        .keyword()
        .attr("alpha", Scalar(1), "factor of the products")
        .out("y")
        .inplace()
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          static const Op addmm{"addmm"};  // one product over both the batch and the inner axis
          const Tensor &a = in[1], &b = in[2];
          check_runtime(a.ndim() == 3 && b.ndim() == 3 && a.size(0) == b.size(0) && a.size(2) == b.size(1),
                        "batch1 and batch2 must be [b, n, m] and [b, m, p], got ", a, " and ", b);
          const int64_t inner = a.size(0) * a.size(2);
          return {addmm({in[0], reshape(transpose(a, 0, 1), {a.size(1), inner}), reshape(b, {inner, b.size(2)})},
                        {attrs[0], attrs[1]})};
        });

}  // namespace hw
