// kthvalue: the k-th smallest element.
#include "base/error.h"
#include "op/math.h"

namespace hw {

static const RegisterOp op = OpDef("kthvalue")
                                 .doc("Returns the k-th smallest element along `dim` and its index.")
                                 .in("input", "any shape")
                                 .attr_required("k", AttrValue::Kind::Int, "1 for the smallest")
                                 .attr("dim", int64_t{-1}, "the axis")
                                 .attr("keepdim", false, "whether the axis stays with size 1")
                                 .out("values")
                                 .out("indices")
                                 .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
                                   static const Op sort{"sort"};
                                   const Tensor& x = in[0];
                                   const int64_t axis = normalize_axis(attrs[1].i64(), x.ndim()), k = attrs[0].i64();
                                   const int64_t size = x.ndim() ? x.shape()[static_cast<size_t>(axis)] : 1;
                                   check_runtime(k >= 1 && k <= size, "k must be in [1, ", size, "], got ", k);
                                   Tensors out = sort.all({x}, {axis, false, true});
                                   if (x.ndim() == 0) return out;
                                   for (Tensor& t : out) {
                                     t = clone(narrow(t, axis, k - 1, 1));
                                     if (!attrs[2].truth()) t = squeeze(t, axis);
                                   }
                                   return out;
                                 });

}  // namespace hw
