// linalg_vector_norm: the vector norm of any order.
#include "base/error.h"
#include "op/math.h"
#include "op/rules.h"

#include <cmath>

namespace hw {

static Tensors vector_norm(std::span<const Tensor> in, const Attrs& attrs) {
  static const Op norm{"_vector_norm"};
  Tensor x = in[0];
  const double ord = attrs[0].f64();
  DType d = attrs[3].none() ? x.dtype() : attrs[3].dtype();
  check_runtime(is_inexact(d), "a norm needs a floating or complex dtype, got ", d, ". Convert it with .to().");
  if (is_complex(x.dtype())) x = abs(x);
  x = to(x, real_dtype(d));
  const AttrValue &dim = attrs[1], &keepdim = attrs[2];
  check_runtime(ord >= 0 || numel(x.shape()) > 0, "the norm of order ", ord, " of nothing is not defined");
  if (ord == 0 || ord == 1 || ord == 2 || std::isinf(ord)) return {norm({x}, {ord, dim, keepdim})};
  Tensor powers = sum(pow(abs(x), number(Scalar(ord))), dim.none() ? Dims() : dim.ints(), keepdim.truth());
  return {pow(powers, number(Scalar(1 / ord)))};
}

static const RegisterOp op = OpDef("linalg_vector_norm")
                                 .doc(
                                     "Returns the vector norm sum(|x|^ord)^(1/ord) over the axes `dim` (all axes by "
                                     "default). ord = inf and -inf give the "
                                     "largest and the smallest magnitude, 0 the number of elements that are not zero.")
                                 .example(">>> hw.linalg_vector_norm(hw.tensor([3.0, 4.0]))\ntensor(5.)")
                                 .in("input", "any shape", any_dtype)
                                 .attr("ord", 2.0, "the order")
                                 .attr_none("dim", AttrValue::Kind::Ints, "axis or axes; None: all")
                                 .attr("keepdim", false, "whether the axes stay with size 1")
                                 .attr_none("dtype", AttrValue::Kind::DType, "the elements are converted to this first")
                                 .keyword()
                                 .out("y")
                                 .method(false)
                                 .composite(vector_norm);

}  // namespace hw
