// _nanmedian_dim: the lower median along one axis of what is not NaN, and its index.
#include "base/error.h"
#include "op/math.h"

namespace hw {

static const RegisterOp op =
    OpDef("_nanmedian_dim")
        .doc(
            "The lower median along one axis of the elements that are not NaN and the index of an element that has "
            "it: what nanmedian(input, dim) runs. NaN where there is nothing else.")
        .in("input", "any shape with elements along the axis", real_types)
        .attr_required("dim", AttrValue::Kind::Int, "the axis")
        .attr("keepdim", false, "whether the axis stays with size 1")
        .out("values")
        .out("indices")
        .internal()
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          static const Op sort{"sort"}, gather{"gather"}, half{"bitwise_right_shift"};
          const Tensor& x = in[0];
          const int64_t axis = normalize_axis(attrs[0].i64(), x.ndim());
          if (x.ndim() == 0) return {clone(x), zeros({}, DType::I64)};
          check_index(x.size(axis) > 0, "there is nothing to choose from: the input ", x,
                      " has no elements along the axis ", axis);
          const Tensor plain = x.alias();
          const Tensor count = sum(eq(plain, plain), {axis}, true);  // NaN is not equal to itself
          const Tensor rank = half({maximum(count - Scalar(1), number(0)), number(1)});
          Tensors out{Tensor(), gather({sort.all({plain}, {axis, false, true})[1], rank}, {axis})};
          out[0] = gather({x, out[1]}, {axis});
          if (!attrs[1].truth())
            for (Tensor& t : out) t = squeeze(t, axis);
          return out;
        });

}  // namespace hw
