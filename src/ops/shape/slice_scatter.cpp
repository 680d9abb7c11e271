// slice_scatter: a copy with a slice replaced.
#include "base/error.h"
#include "op/math.h"

namespace hw {

static const RegisterOp op =
    OpDef("slice_scatter")
        .doc("Returns a copy of the input with `src` in place of the slice start:end:step along the axis `dim`.")
        .example(">>> hw.slice_scatter(hw.zeros(4), hw.ones(2), start=1, end=3)\ntensor([0., 1., 1., 0.])")
        .in("input", "at least one axis")
        .in("src", "the shape of the slice")
        .attr("dim", int64_t{0}, "the axis")
        .attr_none("start", AttrValue::Kind::Int, "where the slice begins; None: 0")
        .attr_none("end", AttrValue::Kind::Int, "where it ends; None: at the end")
        .attr("step", int64_t{1}, "its step, at least 1")
        .out("y")
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          static const Op arange{"arange"}, copy{"index_copy"};
          check_runtime(in[0].ndim() > 0, "the input needs at least one axis, got a 0-d tensor");
          const int64_t dim = normalize_axis(attrs[0].i64(), in[0].ndim()), size = in[0].size(dim);
          const int64_t step = attrs[3].i64();
          check_runtime(step > 0, "step must be positive, got ", step);
          auto place = [&](const AttrValue& v, int64_t otherwise) {
            const int64_t i = v.none() ? otherwise : v.i64();
            return std::clamp<int64_t>(i < 0 ? i + size : i, 0, size);
          };
          const int64_t start = place(attrs[1], 0), end = std::max(start, place(attrs[2], size));
          Dims want = in[0].shape();
          want[static_cast<size_t>(dim)] = (end - start + step - 1) / step;
          check_runtime(in[1].shape() == want, "src has shape ", in[1].shape(), ", the slice ", want);
          const Tensor index = arange({}, {Scalar(start), Scalar(end), Scalar(step), DType::I64});
          return {copy({in[0], index, to(in[1], in[0].dtype())}, {dim})};
        });

}  // namespace hw
