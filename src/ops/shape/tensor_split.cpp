// tensor_split: pieces along an axis, uneven ones allowed.
#include "base/error.h"
#include "op/math.h"

namespace hw {

static const RegisterOp op =
    OpDef("tensor_split")
        .doc(
            "Returns views of `sections` pieces whose sizes differ by at most one, or of the pieces between `indices`.")
        .in("input", "any shape")
        .attr_none("sections", AttrValue::Kind::Int, "how many pieces")
        .attr_none("indices", AttrValue::Kind::Ints, "where pieces begin")
        .attr("dim", int64_t{0}, "the axis")
        .out("tensors...")
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          check_runtime(in[0].ndim() > 0, "a 0-d tensor cannot be split");
          check(attrs[0].none() != attrs[1].none(), "give either sections or indices");
          const int64_t axis = normalize_axis(attrs[2].i64(), in[0].ndim());
          const int64_t size = in[0].shape()[static_cast<size_t>(axis)];
          Dims begins;
          if (attrs[0].none()) {
            begins = attrs[1].ints();
            for (int64_t& b : begins) b = std::clamp<int64_t>(b < 0 ? b + size : b, 0, size);
          } else {
            const int64_t n = attrs[0].i64();
            check_runtime(n > 0 && n <= 1 << 20, "sections must be between 1 and 2^20, got ", n);
            for (int64_t i = 1; i < n; ++i) begins.push_back(i * (size / n) + std::min(i, size % n));
          }
          Tensors out;
          int64_t at = 0;
          for (int64_t b : begins) {
            out.push_back(narrow(in[0], axis, at, std::max<int64_t>(0, b - at)));
            at = b;
          }
          out.push_back(narrow(in[0], axis, at, size - at));
          return out;
        });

}  // namespace hw
