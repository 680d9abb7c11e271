// where: a choice between two.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op =
    OpDef("where")
        .doc("Returns elements of input where condition is True, else of other.")
        .example(">>> hw.where(hw.tensor([True, False]), hw.tensor([1, 2]), hw.tensor([3, 4]))\ntensor([1, 4])")
        .in("condition", "bool", boolean)
        .in("input", "any shape that broadcasts with condition")
        .in("other", "any shape that broadcasts with the two")
        .method(false)  // x.where(condition, other) has another order: see overloads.py
        .promote()
        .numbers(NumberRule::Stores)
        .out("y", dtype::promoted, shape::broadcast)
        .autocast(Autocast::Widest)
        .sbp(sbp::elementwise)
        .grad("condition",
              [](GradCtx& g) {
                if (g.needs(1)) g.dx(1, where(g.in(0), g.dy(), number(0)));
                if (g.needs(2)) g.dx(2, where(g.in(0), number(0), g.dy()));
              })
        .onnx("Where");

}  // namespace hw
