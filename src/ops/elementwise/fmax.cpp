// fmax: the larger of two, passing over NaN.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("fmax")
                                 .doc("Returns the larger element; if one is NaN, the other.")
                                 .in("input", "any shape", real_types)
                                 .in("other", "any shape that broadcasts with input", real_types)
                                 .promote()
                                 .out("y", dtype::promoted, shape::broadcast)
                                 .inplace()
                                 .autocast(Autocast::Widest)
                                 .sbp(sbp::elementwise)
                                 .grad("input other",
                                       [](GradCtx& g) {
                                         static const Op isnan{"isnan"}, logical_or{"logical_or"};
                                         Tensor first = logical_or({ge(g.in(0), g.in(1)), isnan({g.in(1)})});
                                         if (g.needs(0)) g.dx(0, where(first, g.dy(), number(0)));
                                         if (g.needs(1)) g.dx(1, where(first, number(0), g.dy()));
                                       })
                                 .no_onnx("ONNX's Max and Min pass NaN on");

}  // namespace hw
