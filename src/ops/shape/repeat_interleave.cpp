// repeat_interleave: each element several times in a row.
#include "base/error.h"
#include "op/math.h"

namespace hw {

static const RegisterOp op =
    OpDef("repeat_interleave")
        .doc("Returns each element along `dim` (of the flattened input by default) repeated `repeats` times.")
        .example(">>> hw.repeat_interleave(hw.tensor([1, 2]), 2)\ntensor([1, 1, 2, 2])")
        .in("input", "any shape")
        .in("repeats", "0-d, or one number for each element along dim", integral)
        .attr_none("dim", AttrValue::Kind::Int, "the axis; None: of the flattened input")
        .attr_none("output_size", AttrValue::Kind::Int, "accepted; of no effect")
        .keyword()
        .out("y")
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          static const Op select{"index_select"}, list{"_repeat_index"};
          const Tensor x = attrs[0].none() ? reshape(in[0], {in[0].numel()}) : in[0];
          const int64_t axis = attrs[0].none() ? 0 : normalize_axis(attrs[0].i64(), x.ndim());
          check_runtime(x.ndim() > 0, "a 0-d tensor has no axis to repeat along");
          const size_t a = static_cast<size_t>(axis);
          const Tensor& repeats = in[1];
          check_runtime(repeats.ndim() <= 1, "repeats must be 0-d or 1-d, got ", repeats);
          if (repeats.numel() == 1) {
            const int64_t n = repeats.item().i64();
            check_runtime(n >= 0, "repeats cannot be negative, got ", n);
            Dims wide = x.shape(), joined = x.shape();
            wide.insert(a + 1, n);
            check_runtime(!__builtin_mul_overflow(joined[a], n, &joined[a]), "repeats ", n, " are too many");
            return {reshape(expand(unsqueeze(x, axis + 1), wide), joined)};
          }
          check_runtime(repeats.numel() == x.shape()[a], "repeats has ", repeats.numel(), " numbers for ", x.shape()[a],
                        " elements");
          Tensor counts = to(repeats.alias(), DType::I64);
          return {select({x, list({counts}, {sum(counts).item().i64()})}, {axis})};
        });

}  // namespace hw
