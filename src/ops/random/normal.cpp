// normal: random numbers of normal distributions.
#include "base/error.h"
#include "op/math.h"

namespace hw {

static const RegisterOp op =
    OpDef("normal")
        .doc("Returns random numbers whose means and standard deviations are given, element by element or as numbers.")
        .in("mean", "broadcasts with std; a number or a tensor")
        .in("std", "broadcasts with mean; a number or a tensor")
        .attr_none("size", AttrValue::Kind::Ints, "the shape, when mean and std are numbers")
        .method(false)
        .out("y")
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          static const Op draw{"randn"};
          if (in[1]->wrapped) check_runtime(in[1].item().f64() >= 0, "std must not be negative, got ", in[1].item());
          Dims shape = attrs[0].none() ? broadcast_shapes(in[0].shape(), in[1].shape()) : attrs[0].ints();
          auto dtype_of = [](const Tensor& t) {
            return t->wrapped || !is_floating(t.dtype()) ? DType::None : t.dtype();
          };
          DType dtype = promote(dtype_of(in[0]), dtype_of(in[1]));
          if (dtype == DType::None) dtype = default_dtype();
          return {to(draw({}, {shape, dtype}) * in[1] + in[0], dtype)};
        });

}  // namespace hw
