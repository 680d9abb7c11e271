// unique: the different elements.
#include "base/error.h"
#include "op/math.h"

namespace hw {

static const RegisterOp op =
    OpDef("unique")
        .doc(
            "Returns the different elements of the input in ascending order; on request also, for each element, which "
            "of them it is, and how often each occurs.")
        .example(">>> hw.unique(hw.tensor([3, 1, 3]))\ntensor([1, 3])")
        .in("input", "any shape", real_types)
        .attr("sorted", true, "accepted; the result is always sorted")
        .attr("return_inverse", false, "whether to return the position of each element in the result")
        .attr("return_counts", false, "whether to return how often each occurs")
        .attr_none("dim", AttrValue::Kind::Int, "rows along this axis instead of elements")
        .out("output")
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          static const Op unique{"_unique"}, unique_rows{"_unique_rows"}, select{"index_select"};
          const Tensor x = in[0].alias();
          const bool along = !attrs[3].none();
          const int64_t axis = along ? normalize_axis(attrs[3].i64(), x.ndim()) : 0;
          check_runtime(!along || x.ndim() > 0, "a 0-d tensor has no rows");
          Tensors found;
          if (along) {
            Tensor rows = contiguous(transpose(x, 0, axis));
            const int64_t n = rows.shape()[0];
            found = unique_rows.all({reshape(rows, {n, n ? rows.numel() / n : 0})});
          } else {
            found = unique.all({reshape(x, {x.numel()})});
          }
          const int64_t n = found[3].item().i64();
          Tensors out;
          out.push_back(along ? select({x, narrow(found[0], 0, 0, n)}, {axis}) : clone(narrow(found[0], 0, 0, n)));
          if (attrs[1].truth()) out.push_back(along ? found[1] : reshape(found[1], x.shape()));
          if (attrs[2].truth()) out.push_back(clone(narrow(found[2], 0, 0, n)));
          return out;
        });

}  // namespace hw
