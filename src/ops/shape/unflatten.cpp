// unflatten: one axis as several.
#include "base/error.h"
#include "op/math.h"
#include "ops/shape/view_strides.h"

namespace hw {

static const RegisterOp op =
    OpDef("unflatten")
        .doc("Returns a view in which the axis `dim` is split into axes of the given sizes; one of them may be -1.")
        .in("input", "any shape")
        .attr_required("dim", AttrValue::Kind::Int, "the axis")
        .attr_required("sizes", AttrValue::Kind::Ints, "what it becomes")
        .out("y")
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          const int64_t axis = normalize_axis(attrs[0].i64(), in[0].ndim());
          check_runtime(in[0].ndim() > 0 && !attrs[1].ints().empty(),
                        "sizes must not be empty, and the input needs an axis");
          Dims part = resolved_shape(Dims{in[0].shape()[static_cast<size_t>(axis)]}, attrs[1].ints()), shape;
          for (int64_t a = 0; a < in[0].ndim(); ++a) {
            if (a != axis)
              shape.push_back(in[0].shape()[static_cast<size_t>(a)]);
            else
              for (int64_t s : part) shape.push_back(s);
          }
          return {reshape(in[0], shape)};
        });

}  // namespace hw
