// feature_dropout: whole channels set to zero at random.
#include "base/error.h"
#include "op/math.h"

namespace hw {

static const RegisterOp op = OpDef("feature_dropout")
                                 .doc(
                                     "Returns the input with whole channels (all but the first two axes) set to zero "
                                     "with probability p and the others divided by 1 - p, when training.")
                                 .in("input", "at least two axes", floating)
                                 .attr("p", 0.5, "the probability of a zero")
                                 .attr("training", true, "whether anything is done")
                                 .method(false)
                                 .out("y")
                                 .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
                                   static const Op drop{"_dropout"};
                                   const double p = attrs[0].f64();
                                   check(p >= 0 && p <= 1, "p must be in [0, 1], got ", p);
                                   check_runtime(in[0].ndim() >= 2, "at least two axes are needed, got ", in[0]);
                                   if (!attrs[1].truth() || p == 0) return {in[0]};
                                   Dims shape = in[0].shape();
                                   for (size_t i = 2; i < shape.size(); ++i) shape[i] = 1;
                                   return {in[0] * drop.all({ones(shape, in[0].dtype())}, {p})[0]};
                                 });

}  // namespace hw
