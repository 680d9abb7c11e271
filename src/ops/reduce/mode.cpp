// mode: the most frequent element along an axis.
#include "base/error.h"
#include "op/math.h"

namespace hw {

static const RegisterOp op =
    OpDef("mode")
        .doc(
            "Returns the most frequent element along the axis `dim`, the least of several, and the index of the last "
            "element that has this value.")
        .example(">>> hw.mode(hw.tensor([3, 1, 3, 2])).values\ntensor(3)")
        .in("input", "any shape with elements along the axis", real_types)
        .attr("dim", int64_t{-1}, "the axis")
        .attr("keepdim", false, "whether the axis stays with size 1")
        .out("values")
        .out("indices")
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          static const Op sort{"sort"}, cummax{"cummax"}, argmax{"argmax"}, gather{"gather"}, arange{"arange"};
          const Tensor& x = in[0];
          const int64_t axis = normalize_axis(attrs[0].i64(), x.ndim());
          if (x.ndim() == 0) return {clone(x), zeros({}, DType::I64)};
          const int64_t n = x.size(axis);
          check_index(n > 0, "the input ", x, " has no elements along the axis ", axis);
          const Tensors s = sort.all({x.alias()}, {axis, false, true});
          Dims first = x.shape(), line(x.shape().size(), 1);
          first[static_cast<size_t>(axis)] = 1, line[static_cast<size_t>(axis)] = n;
          const Tensor fresh[] = {full(first, Scalar(true), DType::Bool),
                                  ne(narrow(s[0], axis, 1, n - 1), narrow(s[0], axis, 0, n - 1))};
          const Tensor place = reshape(arange({}, {Scalar(n)}), line);
          const Tensor begin = cummax({where(cat(fresh, axis), place, number(0))}, {axis});  // of the run of each
          const Tensor best = argmax({place - begin}, {axis, true});  // the end of the first of the longest runs
          Tensors out{Tensor(), gather({s[1], best}, {axis})};
          out[0] = gather({x, out[1]}, {axis});
          if (!attrs[1].truth())
            for (Tensor& t : out) t = squeeze(t, axis);
          return out;
        });

}  // namespace hw
