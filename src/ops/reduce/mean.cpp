// mean: the arithmetic mean over some or all axes.
#include <algorithm>

#include "base/error.h"
#include "op/cost.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "op/split_form.h"
#include "ops/reduce/reduced.h"

namespace hw {

static DType mean_dtype(const InferCtx& c) {
  DType d = dtype::given_or_same(c);
  check_runtime(is_inexact(d), "the mean needs a floating or complex dtype, got ", d,
                ". Give dtype=, or convert with .to().");
  return d;
}

/// Parts may be uneven, so that their means cannot be joined, but their sums can.
static Tensors by_sums(std::span<const Tensor> in, const Attrs& attrs, std::span<const Placement* const>) {
  static const Op sum_op{"sum"};
  const DType result = attrs[2].none() ? in[0].dtype() : attrs[2].dtype();
  const AttrValue dim = attrs[0].none() ? AttrValue(Dims{}) : attrs[0];
  const Tensor total = sum_op({to(to(in[0], result), is_reduced(result) ? DType::F32 : result)}, {dim, attrs[1]});
  return {to(total / Scalar(static_cast<double>(reduced_count(in[0].spec(), attrs[0]))), result)};
}

static const RegisterSplitForm split_form{"mean", &by_sums};

static const RegisterOp op =
    OpDef("mean")
        .doc("Returns the mean over the axes `dim` (all axes by default). The mean of nothing is NaN.")
        .example(">>> hw.mean(hw.tensor([[1.0, 2.0], [3.0, 4.0]]), dim=0)\ntensor([2., 3.])")
        .in("input", "any shape")
        .attr_none("dim", AttrValue::Kind::Ints, "axis or axes; None: all")
        .attr("keepdim", false, "whether the axes stay with size 1")
        .attr_none("dtype", AttrValue::Kind::DType, "the elements are converted to this first")
        .keyword()
        .out("y", mean_dtype, shape::reduced)
        .flops(cost::per_input<1>)
        .sbp([](SbpCtx& c) {
          sbp::reduce_plain(c);
          c.add({partial_sum()}, {partial_sum()});
        })
        .grad("",
              [](GradCtx& g) {
                double n = static_cast<double>(std::max<int64_t>(reduced_count(g.in_spec(0), g.attr("dim")), 1));
                g.dx(0, expand(with_reduced_axes(g, g.dy() * Scalar(1 / n)), g.in_spec(0).shape));
              })
        .onnx("ReduceMean");

}  // namespace hw
