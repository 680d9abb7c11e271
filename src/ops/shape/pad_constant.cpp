// _pad_constant: constants at the ends of axes.
#include "op/cost.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "ops/shape/axes.h"
#include "ops/shape/padded_shape.h"

namespace hw {

static Dims shape_of(const InferCtx& c) { return padded_shape(c.in[0].shape, c.attr("pad").ints(), ""); }

static const RegisterOp op =
    OpDef("_pad_constant")
        .doc(
            "Returns the input with constants added at the ends of its last axes, or elements taken away where a "
            "number is negative.")
        .in("input", "any shape")
        .attr_required("pad", AttrValue::Kind::Ints, "two numbers for each axis, before and after, the last axis first")
        .attr("value", 0.0, "the constant")
        .out("y", dtype::same, shape_of)
        .internal()
        .flops(cost::bandwidth_bound)
        .sbp([](SbpCtx& c) {
          const Dims& pad = c.attr("pad").ints();
          const int64_t n = c.in()[0].ndim();
          Dims to = axes_in_order(n);
          for (size_t i = 0; i < pad.size(); ++i)
            if (pad[i] != 0) to[static_cast<size_t>(n - 1) - i / 2] = -1;
          for (size_t i = 0; i < to.size(); ++i)
            if (to[i] >= 0) c.add({split(static_cast<int64_t>(i))}, {split(to[i])});
          if (c.attr("value").f64() == 0) c.add({partial_sum()}, {partial_sum()});
        })
        .grad("",
              [](GradCtx& g) {
                static const Op pad{"_pad_constant"};
                Dims back = g.attr("pad").ints();
                for (int64_t& n : back) n = -n;
                g.dx(0, pad({g.dy()}, {back, 0.0}));
              })
        .onnx("Pad");

}  // namespace hw
