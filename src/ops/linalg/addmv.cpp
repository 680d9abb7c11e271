// addmv: a matrix times a vector, added to a vector.
#include "base/error.h"
#include "op/math.h"
#include "ops/linalg/products.h"

namespace hw {

static const RegisterOp op =
    OpDef("addmv")
        .doc("Returns beta * input + alpha * (mat @ vec). With beta = 0 the input is not read.")
        .in("input", "a shape that broadcasts to [m]", numeric)
        .in("mat", "[m, k]", numeric)
        .in("vec", "[k]", numeric)
        .attr("beta", Scalar(1), "factor of input")
        .keyword()
        .attr("alpha", Scalar(1), "factor of the product")
        .out("y")
        .inplace()
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          check_runtime(in[1].ndim() == 2 && in[2].ndim() == 1, "a matrix and a vector are needed, got ", in[1].shape(),
                        " and ", in[2].shape());
          static const Op addmm{"addmm"};
          Tensor input = in[0].ndim() == 1 && in[0].size(0) != 1 ? unsqueeze(in[0], 1) : in[0];
          return {squeeze(addmm({input, in[1], unsqueeze(in[2], 1)}, {attrs[0], attrs[1]}), -1)};
        });

}  // namespace hw
