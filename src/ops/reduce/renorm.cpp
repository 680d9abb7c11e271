// renorm: slices whose norm is too large made shorter.
#include "base/error.h"
#include "op/math.h"

namespace hw {

static const RegisterOp op =
    OpDef("renorm")
        .doc(
            "Returns the input with every slice along `dim` whose norm of order `p` is above `maxnorm` scaled to that "
            "norm.")
        .example(
            ">>> hw.renorm(hw.tensor([[3.0, 4.0], [0.3, 0.4]]), p=2, dim=0, maxnorm=1.0)\n"
            "tensor([[0.6000, 0.8000],\n        [0.3000, 0.4000]])")
        .in("input", "at least two axes", inexact)
        .attr_required("p", AttrValue::Kind::Scalar, "the order, positive")
        .attr_required("dim", AttrValue::Kind::Int, "the axis of the slices")
        .attr_required("maxnorm", AttrValue::Kind::Scalar, "the greatest norm that stays")
        .out("y")
        .inplace()
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          static const Op norm{"linalg_vector_norm"};
          const Tensor& x = in[0];
          const double p = attrs[0].scalar().f64(), most = attrs[2].scalar().f64();
          check_runtime(x.ndim() >= 2, "the input needs at least two axes, got ", x);
          check_runtime(p > 0, "p must be positive, got ", p);
          check_runtime(most >= 0, "maxnorm must not be negative, got ", most);
          const int64_t axis = normalize_axis(attrs[1].i64(), x.ndim());
          Dims rest;
          for (int64_t a = 0; a < x.ndim(); ++a)
            if (a != axis) rest.push_back(a);
          Tensor size = norm({x}, {p, rest, true});
          if (size.dtype() == DType::F16 || size.dtype() == DType::BF16) size = to(size, DType::F32);
          // The small number keeps the quotient finite where maxnorm and the norm are tiny; torch's choice.
          const Tensor factor = where(gt(size, number(most)), number(most) / (size + Scalar(1e-7)), number(1.0));
          return {x * to(factor, real_dtype(x.dtype()))};
        });

}  // namespace hw
