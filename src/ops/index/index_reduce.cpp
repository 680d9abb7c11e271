// index_reduce: whole slices combined along an axis.
#include "base/error.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op =
    OpDef("index_reduce")
        .doc(
            "Returns the input with the slices of `source` combined into the positions `index` along `dim`, by "
            "product, mean, largest or smallest.")
        .example(
            ">>> hw.index_reduce(hw.ones(3), 0, hw.tensor([0, 0]), hw.tensor([2.0, 3.0]), 'prod')\n"
            "tensor([6., 1., 1.])")
        .in("input", "any shape")
        .attr_required("dim", AttrValue::Kind::Int, "the axis")
        .in("index", "[k]", index_types)
        .in("source", "the input's shape, but k long along dim")
        .attr_required("reduce", AttrValue::Kind::Text, "'prod', 'mean', 'amax' or 'amin'")
        .attr("include_self", true, "whether the elements of the input count too")
        .keyword()
        .out("y")
        .inplace()
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          static const Op combine{"scatter_reduce"};
          const std::string& reduce = attrs[1].text();
          check_runtime(reduce == "prod" || reduce == "mean" || reduce == "amax" || reduce == "amin",
                        "reduce must be 'prod', 'mean', 'amax' or 'amin', got '", reduce, "'");
          check_runtime(in[0].ndim() > 0 && in[1].ndim() == 1, "input needs an axis and index must be 1-d, got ", in[0],
                        " and ", in[1]);
          const int64_t dim = normalize_axis(attrs[0].i64(), in[0].ndim());
          Dims want = in[0].shape(), row(want.size(), 1);
          want[static_cast<size_t>(dim)] = row[static_cast<size_t>(dim)] = in[1].size(0);
          check_runtime(in[2].shape() == want, "source has shape ", in[2].shape(), ", expected ", want);
          return {combine({in[0], expand(reshape(in[1], row), want), in[2]}, {dim, reduce, attrs[2]})};
        });

}  // namespace hw
