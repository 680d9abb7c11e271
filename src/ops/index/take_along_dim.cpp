// take_along_dim: gather with broadcasting.
#include "base/error.h"
#include "op/math.h"

namespace hw {

static const RegisterOp op =
    OpDef("take_along_dim")
        .doc(
            "Returns the elements of the input at `indices` along `dim`; the other axes are broadcast. Without dim the "
            "input is flattened.")
        .in("input", "any shape")
        .in("indices", "positions along dim", index_types)
        .attr_none("dim", AttrValue::Kind::Int, "the axis")
        .out("y")
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          static const Op gather{"gather"};
          if (attrs[0].none())
            return {gather({reshape(in[0], {in[0].numel()}), reshape(in[1], {in[1].numel()})}, {int64_t{0}})};
          check_runtime(in[0].ndim() == in[1].ndim(), "input has ", in[0].ndim(), " axes, indices ", in[1].ndim());
          const int64_t axis = normalize_axis(attrs[0].i64(), in[0].ndim());
          const size_t a = static_cast<size_t>(axis);
          Dims x = in[0].shape(), i = in[1].shape();
          if (x.empty()) return {gather({in[0], in[1]}, {axis})};
          x[a] = 1;
          i[a] = 1;
          Dims common = broadcast_shapes(x, i);
          x = i = common;
          x[a] = in[0].shape()[a];
          i[a] = in[1].shape()[a];
          return {gather({expand(in[0], x), expand(in[1], i)}, {axis})};
        });

}  // namespace hw
