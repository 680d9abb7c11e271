// _boxing: the same values in another placement. What changes a global tensor's SBP or mesh on the tape and in graphs.
#include "base/error.h"
#include "op/cost.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "sbp/placement.h"

namespace hw {

/// Where the gradient lies: where the value lay, but a gradient of partial values is the same for each of them.
static std::string gradient_place(const std::string& place) {
  return place.empty() ? place : text(without_partial(parse_placement(place)));
}

static const RegisterOp op =
    OpDef("_boxing")
        .doc(
            "Returns the values of the input in the placement `target`. A placement is a text as `cpu[data=2] [S(0)]`; "
            "an empty one stands for an ordinary tensor that every process holds whole.")
        .in("input", "any shape")
        .attr_required("source", AttrValue::Kind::Text, "the placement of the input")
        .attr_required("target", AttrValue::Kind::Text, "the placement of the result")
        .out("y", dtype::same, shape::same)
        .internal()
        .flops(cost::bandwidth_bound)
        .no_sbp("it is what changes the SBP")
        .grad("",
              [](GradCtx& g) {
                static const Op back{"_boxing"};
                g.dx(0, back({g.dy()}, {g.attr("target").text(), gradient_place(g.attr("source").text())}));
              })
        .no_onnx("a frozen model is for one device");

}  // namespace hw
