// split: views of pieces along an axis.
#include "base/error.h"
#include "op/math.h"

namespace hw {
/// Views of `sizes` elements each along the axis.
static Tensors pieces(const Tensor& x, int64_t axis, const Dims& sizes) {
  Tensors out;
  int64_t at = 0;
  for (int64_t n : sizes) {
    out.push_back(narrow(x, axis, at, n));
    at += n;
  }
  return out;
}

static const RegisterOp op =
    OpDef("split")
        .doc(
            "Returns views of the pieces of the input along `dim`: of one size (the last may be smaller), or of the "
            "listed sizes.")
        .example(">>> hw.split(hw.arange(5), 2)\n(tensor([0, 1]), tensor([2, 3]), tensor([4]))")
        .in("tensor", "at least one axis")
        .attr_required("split_size_or_sections", AttrValue::Kind::Ints, "one size, or the size of each piece")
        .attr("dim", int64_t{0}, "the axis")
        .out("tensors...")
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          const Dims& given = attrs[0].ints();
          check_runtime(in[0].ndim() > 0, "a 0-d tensor cannot be split");
          const int64_t axis = normalize_axis(attrs[1].i64(), in[0].ndim());
          const int64_t size = in[0].shape()[static_cast<size_t>(axis)];
          Dims sizes;
          if (given.size() == 1) {
            const int64_t n = given[0];
            check_runtime(n > 0 || (n == 0 && size == 0), "split_size must be positive, got ", n);
            for (int64_t at = 0; at < size; at += n) sizes.push_back(std::min(n, size - at));
            if (size == 0) sizes.push_back(0);
          } else {
            int64_t total = 0;
            for (int64_t n : given) {
              check_runtime(n >= 0, "sizes cannot be negative, got ", given);
              total += n;
            }
            check_runtime(total == size, "the sizes ", given, " sum to ", total, ", axis ", axis, " has ", size);
            sizes = given;
          }
          return pieces(in[0], axis, sizes);
        });

}  // namespace hw
