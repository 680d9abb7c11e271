// kron: the Kronecker product.
#include <algorithm>

#include "op/math.h"

namespace hw {

static const RegisterOp op =
    OpDef("kron")
        .doc(
            "Returns the Kronecker product: every element of the input times the whole of other, block by block. The "
            "tensor with fewer axes gets axes of size 1 in front.")
        .example(">>> hw.kron(hw.tensor([1, 2]), hw.tensor([1, 10]))\ntensor([ 1, 10,  2, 20])")
        .in("input", "any shape")
        .in("other", "any shape")
        .numbers(NumberRule::Wraps)
        .out("y")
        .composite([](std::span<const Tensor> in, const Attrs&) -> Tensors {
          const int64_t ndim = std::max(in[0].ndim(), in[1].ndim());
          Dims first, second, whole;  // axis by axis [n, 1] and [1, m], together [n * m]
          for (int64_t a = 0; a < ndim; ++a) {
            const int64_t p = a - (ndim - in[0].ndim()), q = a - (ndim - in[1].ndim());
            const int64_t n = p < 0 ? 1 : in[0].size(p), m = q < 0 ? 1 : in[1].size(q);
            first.push_back(n), first.push_back(1);
            second.push_back(1), second.push_back(m);
            whole.push_back(n * m);
          }
          return {reshape(reshape(in[0], first) * reshape(in[1], second), whole)};
        });

}  // namespace hw
