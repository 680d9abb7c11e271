// logspace: powers at even distances.
#include "op/math.h"

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
          Tensor exponents = linspace({}, {attrs[0].f64(), attrs[1].f64(), attrs[2].i64(), wide});
          return {to(power({Tensor::scalar(Scalar(attrs[3].f64()), wide), exponents}), dtype)};
        });

}  // namespace hw
