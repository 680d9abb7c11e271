// flatten: a range of axes as one.
#include "base/error.h"
#include "op/math.h"

namespace hw {

static const RegisterOp op =
    OpDef("flatten")
        .doc("Returns the input with the axes start_dim to end_dim merged into one; a view where possible.")
        .example(">>> hw.flatten(hw.zeros(2, 3, 5), 1).shape\nheadwater.Size([2, 15])")
        .in("input", "any shape")
        .attr("start_dim", int64_t{0}, "the first axis")
        .attr("end_dim", int64_t{-1}, "the last axis")
        .out("y")
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          const int64_t n = in[0].ndim();
          int64_t first = normalize_axis(attrs[0].i64(), n), last = normalize_axis(attrs[1].i64(), n);
          check_runtime(first <= last, "start_dim ", first, " comes after end_dim ", last);
          if (n == 0) return {reshape(in[0], {1})};
          if (first == last) return {in[0]};
          Dims shape;
          int64_t merged = 1;
          for (int64_t a = 0; a < n; ++a) {
            const int64_t size = in[0].shape()[static_cast<size_t>(a)];
            if (a < first || a > last)
              shape.push_back(size);
            else
              merged *= size;
            if (a == last) shape.push_back(merged);
          }
          return {reshape(in[0], shape)};
        });

}  // namespace hw
