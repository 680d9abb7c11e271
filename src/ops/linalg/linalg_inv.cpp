// linalg_inv: inverse matrices.
#include "op/math.h"
#include "op/rules.h"
#include "ops/linalg/square.h"

namespace hw {

static const RegisterOp op =
    OpDef("linalg_inv")
        .doc("Returns the inverses of square matrices. RuntimeError where one is singular; see also linalg_solve.")
        .example(
            ">>> hw.linalg_inv(hw.tensor([[2.0, 0.0], [0.0, 4.0]]))\n"
            "tensor([[0.5000, 0.0000],\n        [0.0000, 0.2500]])")
        .in("A", "[..., n, n]", floating)
        .out("y")
        .method(false)
        .composite([](std::span<const Tensor> in, const Attrs&) -> Tensors {
          static const Op solve{"_solve"}, eye{"eye"};
          check_square(in[0].spec());
          const Tensor one = eye({}, {in[0].size(-1), AttrValue(), in[0].dtype()});
          return {solve({in[0], expand(one, in[0].shape())})};
        });

}  // namespace hw
