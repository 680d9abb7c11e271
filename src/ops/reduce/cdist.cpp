// cdist: the distance of every pair of rows.
#include "base/error.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op =
    OpDef("cdist")
        .doc(
            "Returns the norms of order `p` of the differences of every row of x1 and every row of x2: [..., P, M] and "
            "[..., R, M] "
            "give [..., P, R].")
        .example(">>> hw.cdist(hw.tensor([[3.0, 4.0]]), hw.tensor([[0.0, 0.0], [3.0, 0.0]]))\ntensor([[5., 4.]])")
        .in("x1", "[..., P, M]", floating)
        .in("x2", "[..., R, M]", floating)
        .attr("p", 2.0, "the order")
        .attr("compute_mode", "use_mm_for_euclid_dist_if_necessary", "accepted; the differences are always formed")
        .out("y")
        .method(false)
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          static const Op norm{"linalg_vector_norm"};
          check_runtime(in[0].ndim() >= 2 && in[1].ndim() >= 2, "x1 and x2 need at least two axes, got ", in[0],
                        " and ", in[1]);
          check_runtime(in[0].size(-1) == in[1].size(-1), "the rows of x1 and x2 differ in length: ", in[0].size(-1),
                        " and ", in[1].size(-1));
          return {norm({unsqueeze(in[0], -2) - unsqueeze(in[1], -3)}, {attrs[0], Dims{-1}})};
        });

}  // namespace hw
