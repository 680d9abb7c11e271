// matrix_power: products of a matrix with itself.
#include "base/error.h"
#include "op/math.h"
#include "ops/linalg/square.h"

namespace hw {

static const RegisterOp op =
    OpDef("matrix_power")
        .doc("Returns the n-th powers of square matrices: the identity for n = 0, powers of the inverse for n < 0.")
        .example(
            ">>> hw.matrix_power(hw.tensor([[2.0, 0.0], [0.0, 3.0]]), 3)\n"
            "tensor([[ 8.,  0.],\n        [ 0., 27.]])")
        .in("input", "[..., n, n]", inexact)
        .attr_required("n", AttrValue::Kind::Int, "the exponent")
        .out("y")
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          static const Op inv{"linalg_inv"}, eye{"eye"};
          check_square(in[0].spec());
          int64_t n = attrs[0].i64();
          if (n == 0) {
            const Tensor one = eye({}, {in[0].size(-1), AttrValue(), in[0].dtype()});
            return {clone(expand(one, in[0].shape()))};
          }
          Tensor base = n < 0 ? inv({in[0]}) : in[0], y;
          for (uint64_t left = n < 0 ? 0 - static_cast<uint64_t>(n) : static_cast<uint64_t>(n);;) {
            if (left & 1) y = y.defined() ? matmul(y, base) : base;
            if ((left >>= 1) == 0) break;
            base = matmul(base, base);
          }
          return {y == in[0] ? clone(y) : y};
        });

}  // namespace hw
