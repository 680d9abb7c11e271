// select_scatter: a copy with one position of an axis replaced.
#include "base/error.h"
#include "op/math.h"

namespace hw {

static const RegisterOp op =
    OpDef("select_scatter")
        .doc("Returns a copy of the input with `src` in place of position `index` of the axis `dim`.")
        .example(
            ">>> hw.select_scatter(hw.zeros(2, 2), hw.ones(2), 0, 1)\n"
            "tensor([[0., 0.],\n        [1., 1.]])")
        .in("input", "at least one axis")
        .in("src", "the input's shape without the axis")
        .attr_required("dim", AttrValue::Kind::Int, "the axis")
        .attr_required("index", AttrValue::Kind::Int, "the position; negative ones count from the end")
        .numbers(NumberRule::Stores)
        .out("y")
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          static const Op copy{"index_copy"};
          check_runtime(in[0].ndim() > 0, "the input needs at least one axis, got a 0-d tensor");
          const int64_t dim = normalize_axis(attrs[0].i64(), in[0].ndim()), size = in[0].size(dim);
          const int64_t given = attrs[1].i64(), index = given < 0 ? given + size : given;
          check_index(index >= 0 && index < size, "index ", given, " is out of range for axis ", dim, " of size ",
                      size);
          Dims want = in[0].shape();
          want.erase(static_cast<size_t>(dim));
          check_runtime(in[1].shape() == want, "src has shape ", in[1].shape(), ", position ", index, " of the axis ",
                        want);
          const Tensor place = full({1}, Scalar(index), DType::I64);
          return {copy({in[0], place, unsqueeze(to(in[1], in[0].dtype()), dim)}, {dim})};
        });

}  // namespace hw
