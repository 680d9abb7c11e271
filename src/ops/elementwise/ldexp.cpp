// ldexp: numbers times powers of two.
#include "core/dtype.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

/// input * 2^exponent in input's dtype. In three steps, of which each factor is a finite number although 2^exponent may be none.
static Tensor scaled(const Tensor& input, const Tensor& exponent) {
  static const Op clamp{"clamp"};
  const DType dtype = is_inexact(input.dtype()) ? input.dtype() : default_dtype();
  const DType wide = is_reduced(dtype) ? DType::F32 : dtype;
  const Tensor e = clamp({to(exponent, real_dtype(wide)), number(Scalar(-2400.0)), number(Scalar(2400.0))});
  static const Op trunc{"trunc"};
  const Tensor third = trunc({e / 3.0});
  const Tensor two = number(Scalar(2.0)), step = pow(two, third);
  return to(to(input, wide) * step * step * pow(two, e - third * 2.0), dtype);
}

static const RegisterOp op =
    OpDef("ldexp")
        .doc("Returns input * 2^other for each element; integers give floating-point numbers.")
        .example(">>> hw.ldexp(hw.tensor([1.0, 3.0]), hw.tensor([2, -1]))\ntensor([4.0000, 1.5000])")
        .in("input", "any shape")
        .in("other", "the exponents; any shape that broadcasts with input")
        .out("y")
        .inplace()
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          if (!is_inexact(in[1].dtype())) return {scaled(in[0], in[1])};
          const TensorSpec specs[] = {in[0].spec(), in[1].spec()};
          const DType wide = promote(in[0].dtype(), in[1].dtype());
          return {to(in[0] * pow(number(Scalar(2.0)), to(in[1], wide)), result_type(specs))};
        });

}  // namespace hw
