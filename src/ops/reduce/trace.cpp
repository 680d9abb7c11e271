// trace: the sum of the diagonal of a matrix.
#include "base/error.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op =
    OpDef("trace")
        .doc("Returns the sum of the diagonal of a matrix.")
        .example(">>> hw.trace(hw.tensor([[1, 2], [3, 4]]))\ntensor(5)")
        .in("input", "a matrix", any_dtype)
        .out("y")
        .composite([](std::span<const Tensor> in, const Attrs&) -> Tensors {
          static const Op as_strided{"as_strided"};
          const Tensor& x = in[0];
          check_runtime(x.ndim() == 2, "trace needs a matrix, got ", x);
          const Dims &s = x.strides(), &n = x.shape();
          return {sum(as_strided({x}, {Dims{std::min(n[0], n[1])}, Dims{s[0] + s[1]}, x.offset()}))};
        });

}  // namespace hw
