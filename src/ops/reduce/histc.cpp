// histc: how many elements fall into each of several bins of equal width.
#include <cmath>

#include "base/error.h"
#include "op/math.h"

namespace hw {

static const RegisterOp op =
    OpDef("histc")
        .doc(
            "Returns how many elements fall into each of `bins` bins of equal width between `min` and `max`, in the "
            "dtype of the input; elements outside are not counted, max belongs to the last bin. With min = max = 0 the "
            "bounds are the least and the greatest element.")
        .example(">>> hw.histc(hw.tensor([1.0, 2.0, 1.0]), bins=4, min=0, max=3)\ntensor([0., 2., 1., 0.])")
        .in("input", "any shape", floating)
        .attr("bins", int64_t{100}, "how many bins")
        .attr("min", Scalar(0), "the lower bound")
        .attr("max", Scalar(0), "the upper bound")
        .out("y")
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          static const Op add{"scatter_add"}, least{"amin"}, most{"amax"}, bit_and{"bitwise_and"};
          const int64_t bins = attrs[0].i64();
          check_runtime(bins > 0 && bins < int64_t{1} << 40, "bins must be positive, got ", bins);
          double low = attrs[1].scalar().f64(), high = attrs[2].scalar().f64();
          const Tensor flat = reshape(in[0].alias(), {in[0].numel()});
          if (low == high && flat.numel()) low = least({flat}).item().f64(), high = most({flat}).item().f64();
          check_runtime(std::isfinite(low) && std::isfinite(high), "the range of [", low, ", ", high,
                        "] is not finite. Give min and max.");
          if (low == high) low -= 1, high += 1;
          check_runtime(low < high, "max must be larger than min, got ", high, " and ", low);
          const DType wide = flat.dtype() == DType::F64 ? DType::F64 : DType::F32;
          const Tensor x = to(flat, wide);
          const Tensor inside = bit_and({ge(x, number(low)), le(x, number(high))});
          const Tensor place = where(inside, (x - Scalar(low)) * Scalar(bins) / Scalar(high - low), number(0.0));
          const Tensor bin = minimum(to(place, DType::I64), number(Scalar(bins - 1)));
          return {to(add({zeros({bins}, wide), bin, to(inside, wide)}, {int64_t{0}}), flat.dtype())};
        });

}  // namespace hw
