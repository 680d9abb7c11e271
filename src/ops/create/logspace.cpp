// logspace: powers at even distances.
#include <cmath>

#include "op/math.h"
#include "op/number_rule.h"

namespace hw {

static const RegisterOp op =
    OpDef("logspace")
        .doc("Returns `steps` powers of `base` whose exponents run evenly from start to end.")
        .attr_required("start", AttrValue::Kind::Float, "the first exponent")
        .attr_required("end", AttrValue::Kind::Float, "the last exponent")
        .attr_required("steps", AttrValue::Kind::Int, "how many")
        .attr("base", 10.0, "the base")
        .attr_none("dtype", AttrValue::Kind::DType, "the dtype; default: the default dtype")
        .keyword()
        .out("y")
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          static const Op linspace{"linspace"}, power{"pow"};
          const DType dtype = attrs[4].none() ? default_dtype() : attrs[4].dtype();
          const DType wide = is_complex(dtype) ? DType::C128 : DType::F64;
          const double base = attrs[3].f64();
          for (size_t i : {0, 1}) {
            check_stored(i ? "end" : "start", Scalar(attrs[i].f64()), dtype);
            if (is_integral(dtype)) check_stored("a power", Scalar(std::pow(base, attrs[i].f64())), dtype);
          }
          Tensor exponents = linspace({}, {attrs[0].f64(), attrs[1].f64(), attrs[2].i64(), wide});
          return {to(power({Tensor::scalar(Scalar(base), wide), exponents}), dtype)};
        });

}  // namespace hw
