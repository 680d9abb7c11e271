// dropout: elements set to zero at random.
#include "base/error.h"
#include "op/math.h"

namespace hw {

static const RegisterOp op = OpDef("dropout")
                                 .doc(
                                     "Returns the input with each element set to zero with probability p and the "
                                     "others divided by 1 - p, when training; the input itself otherwise.")
                                 .in("input", "any shape", inexact)
                                 .attr("p", 0.5, "the probability of a zero")
                                 .attr("training", true, "whether anything is done")
                                 .attr("inplace", false, "whether to write into the input")
                                 .method(false)
                                 .out("y")
                                 .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
                                   static const Op drop{"_dropout"}, copy{"copy_"};
                                   const double p = attrs[0].f64();
                                   check(p >= 0 && p <= 1, "p must be in [0, 1], got ", p);
                                   if (!attrs[1].truth() || p == 0) return {in[0]};
                                   Tensor y = drop.all({in[0]}, {p})[0];
                                   return {attrs[2].truth() ? copy.inplace({in[0], y}) : y};
                                 });

}  // namespace hw
