// linalg_solve: systems of linear equations.
#include "base/error.h"
#include "op/math.h"
#include "op/rules.h"
#include "ops/linalg/square.h"

namespace hw {

/// The axes before the last `own`, of both inputs together.
static Dims common_batch(const Tensor& a, const Tensor& b, size_t own) {
  Dims x = a.shape(), y = b.shape(), out;
  x.resize(x.size() - 2), y.resize(y.size() - own);
  const size_t n = std::max(x.size(), y.size());
  for (size_t i = 0; i < n; ++i) {
    const int64_t p = i + x.size() < n ? 1 : x[i + x.size() - n], q = i + y.size() < n ? 1 : y[i + y.size() - n];
    check_runtime(p == q || p == 1 || q == 1, "the batches of ", a, " and ", b, " do not broadcast");
    out.push_back(p == 1 ? q : p);
  }
  return out;
}

static const RegisterOp op =
    OpDef("linalg_solve")
        .doc(
            "Returns X with A X = B for square matrices A; B may be one vector for each matrix. With left=False X A = "
            "B. RuntimeError where A is singular.")
        .example(
            ">>> hw.linalg_solve(hw.tensor([[2.0, 0.0], [0.0, 4.0]]), hw.tensor([2.0, 2.0]))\n"
            "tensor([1.0000, 0.5000])")
        .in("A", "[..., n, n]", floating)
        .in("B", "[..., n, k], or [..., n]", floating)
        .attr("left", true, "whether A stands on the left")
        .keyword()
        .out("y")
        .method(false)
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          static const Op solve{"_solve"};
          const Tensor &a = in[0], &b = in[1];
          check_square(a.spec());
          const int64_t n = a.size(-1), ndim = a.ndim();
          // As in torch: a vector for each matrix, if B has exactly the axes for it.
          bool vector = b.ndim() == 1 || b.ndim() + 1 == ndim;
          for (int64_t i = 0; vector && b.ndim() > 1 && i + 1 < ndim; ++i) vector = a.size(i) == b.size(i);
          if (vector) {
            check_runtime(attrs[0].truth(), "left=False needs matrices, got a vector: ", b);
            const Dims batch = common_batch(a, b, 1);
            Dims as = batch, bs = batch;
            as.push_back(n), as.push_back(n), bs.push_back(b.size(-1));
            return {squeeze(solve({expand(a, as), unsqueeze(expand(b, bs), -1)}), -1)};
          }
          check_runtime(b.ndim() >= 2, "B must be [..., n, k] or [..., n], got ", b);
          const bool left = attrs[0].truth();
          const Tensor y = left ? b : mT(b);
          Dims as = common_batch(a, b, 2), bs = as;
          as.push_back(n), as.push_back(n), bs.push_back(y.size(-2)), bs.push_back(y.size(-1));
          const Tensor x = solve({expand(left ? a : mT(a), as), expand(y, bs)});
          return {left ? x : mT(x)};
        });

}  // namespace hw
