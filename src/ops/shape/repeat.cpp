// repeat: copies along each axis.
#include "base/error.h"
#include "op/math.h"

namespace hw {

static const RegisterOp op =
    OpDef("repeat")
        .doc("Returns the input repeated `repeats[i]` times along axis i. More repeats than axes add axes in front.")
        .example(">>> hw.repeat(hw.tensor([1, 2]), (2, 2))\ntensor([[1, 2, 1, 2],\n        [1, 2, 1, 2]])")
        .in("input", "any shape")
        .attr_required("repeats", AttrValue::Kind::Ints, "one number for each axis")
        .varargs()
        .out("y")
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          const Dims& repeats = attrs[0].ints();
          check_runtime(static_cast<int64_t>(repeats.size()) >= in[0].ndim(), "repeats ", repeats,
                        " names fewer axes than ", in[0], " has");
          // [n] -> [1, n] -> [repeats, n] -> [repeats * n]: one copy.
          Dims split, wide, joined;
          const size_t lead = repeats.size() - in[0].shape().size();
          for (size_t i = 0; i < repeats.size(); ++i) {
            check_runtime(repeats[i] >= 0, "repeats cannot be negative, got ", repeats);
            const int64_t size = i < lead ? 1 : in[0].shape()[i - lead];
            for (int64_t n : {int64_t{1}, size}) split.push_back(n);
            for (int64_t n : {repeats[i], size}) wide.push_back(n);
            int64_t total = 0;
            check_runtime(!__builtin_mul_overflow(repeats[i], size, &total), "repeats ", repeats, " are too large");
            joined.push_back(total);
          }
          if (std::all_of(repeats.begin(), repeats.end(), [](int64_t n) { return n == 1; }))
            return {clone(reshape(in[0], joined))};
          return {reshape(expand(reshape(in[0], split), wide), joined)};
        });

}  // namespace hw
