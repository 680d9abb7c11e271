// split_with_sizes: views of pieces of given sizes.
#include "base/error.h"
#include "op/math.h"

namespace hw {

static const RegisterOp op =
    OpDef("split_with_sizes")
        .doc("Returns views of the pieces of the input along `dim` that have the listed sizes.")
        .in("input", "any shape")
        .attr_required("split_sizes", AttrValue::Kind::Ints, "the size of each piece")
        .attr("dim", int64_t{0}, "the axis")
        .out("tensors...")
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          check_runtime(in[0].ndim() > 0, "a 0-d tensor cannot be split");
          const int64_t axis = normalize_axis(attrs[1].i64(), in[0].ndim());
          int64_t at = 0;
          Tensors out;
          for (int64_t n : attrs[0].ints()) {
            out.push_back(narrow(in[0], axis, at, n));
            at += n;
          }
          check_runtime(at == in[0].shape()[static_cast<size_t>(axis)], "the sizes ", attrs[0].ints(), " sum to ", at,
                        ", axis ", axis, " has ", in[0].shape()[static_cast<size_t>(axis)]);
          return out;
        });

}  // namespace hw
