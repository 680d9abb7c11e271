// chunk: a number of pieces along an axis.
#include "base/error.h"
#include "op/math.h"

namespace hw {

static const RegisterOp op =
    OpDef("chunk")
        .doc("Returns views of at most `chunks` pieces of equal size along `dim`; the last may be smaller.")
        .example(">>> hw.chunk(hw.arange(5), 2)\n(tensor([0, 1, 2]), tensor([3, 4]))")
        .in("input", "any shape")
        .attr_required("chunks", AttrValue::Kind::Int, "how many")
        .attr("dim", int64_t{0}, "the axis")
        .out("tensors...")
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          static const Op split_op{"split"};
          check_runtime(in[0].ndim() > 0, "a 0-d tensor cannot be split");
          const int64_t axis = normalize_axis(attrs[1].i64(), in[0].ndim()), n = attrs[0].i64();
          check_runtime(n > 0, "chunks must be positive, got ", n);
          const int64_t size = in[0].shape()[static_cast<size_t>(axis)];
          if (size == 0) {
            check_runtime(n <= 1 << 20, "chunks must be at most 2^20, got ", n);
            Tensors same(static_cast<size_t>(n));
            for (Tensor& t : same) t = narrow(in[0], axis, 0, 0);
            return same;
          }
          return split_op.all({in[0]}, {Dims{size / n + (size % n != 0)}, axis});
        });

}  // namespace hw
