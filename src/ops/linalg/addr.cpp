// addr: an outer product added to a matrix.
#include "base/error.h"
#include "core/dtype.h"
#include "op/math.h"
#include "ops/linalg/products.h"

namespace hw {

static const RegisterOp op =
    OpDef("addr")
        .doc(
            "Returns beta * input + alpha * outer(vec1, vec2). With beta = 0 the input is not read, not even its NaNs.")
        .example(
            ">>> hw.addr(hw.ones(2, 2), hw.tensor([1.0, 2.0]), hw.tensor([1.0, 10.0]))\n"
            "tensor([[ 2., 11.],\n        [ 3., 21.]])")
        .in("input", "a shape that broadcasts to [n, m]", numeric)
        .in("vec1", "[n]", numeric)
        .in("vec2", "[m]", numeric)
        .attr("beta", Scalar(1), "factor of input")
        .keyword()
        .attr("alpha", Scalar(1), "factor of the product")
        .numbers(NumberRule::Wraps)
        .out("y")
        .inplace()
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          static const Op outer{"outer"};
          check_runtime(in[1].ndim() == 1 && in[2].ndim() == 1, "vec1 and vec2 must be 1-d, got ", in[1], " and ",
                        in[2]);
          const Dims shape{in[1].size(0), in[2].size(0)};
          check_runtime(in[0].ndim() <= 2 && broadcast_shapes(in[0].shape(), shape) == shape, "input ", in[0],
                        " is larger than the product, which is ", shape);
          const Tensor product = scaled(outer({in[1], in[2]}), attrs[1].scalar());
          if (attrs[0].scalar() == Scalar(0)) return {product};
          // Converted first: beta of an integer tensor would give the default dtype, which may be wider than the product's.
          const bool rises = is_inexact(product.dtype()) && !is_inexact(in[0].dtype());
          return {scaled(rises ? to(in[0], product.dtype()) : in[0], attrs[0].scalar()) + product};
        });

}  // namespace hw
