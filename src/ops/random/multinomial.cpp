// multinomial: random picks by weight.
#include "base/error.h"
#include "op/cost.h"
#include "op/rules.h"

namespace hw {

static Dims shape_of(const InferCtx& c) {
  const TensorSpec& x = c.in[0];
  check_runtime(x.ndim() == 1 || x.ndim() == 2, "the input must have one or two axes, got ", x);
  const int64_t n = c.attr("num_samples").i64();
  check_runtime(n > 0, "num_samples must be positive, got ", n);
  check_runtime(c.attr("replacement").truth() || n <= x.shape.back(), "num_samples ", n, " exceeds the ",
                x.shape.back(), " weights; draw with replacement=True");
  Dims shape = x.shape;
  shape.back() = n;
  return shape;
}

static const RegisterOp op =
    OpDef("multinomial")
        .doc("Returns num_samples indices for each row of weights, drawn with probability in proportion to them.")
        .in("input", "weights, [n] or [rows, n]; not negative", floating)
        .attr_required("num_samples", AttrValue::Kind::Int, "how many for each row")
        .attr("replacement", false, "whether an index may be drawn more than once")
        .out("y", dtype::int64, shape_of)
        .random()
        .flops(cost::drawing)
        .sbp(sbp::broadcast_only)
        .no_grad("a draw is not differentiable")
        .onnx("Multinomial");

}  // namespace hw
