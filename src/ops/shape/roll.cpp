// roll: elements shifted around.
#include "base/error.h"
#include "op/math.h"
#include "ops/shape/axes.h"

namespace hw {

static const RegisterOp op =
    OpDef("roll")
        .doc(
            "Returns the elements shifted by `shifts` along `dims`; those pushed out come back in at the other end. "
            "Without dims the input is flattened first.")
        .example(">>> hw.roll(hw.arange(4), 1)\ntensor([3, 0, 1, 2])")
        .in("input", "any shape")
        .attr_required("shifts", AttrValue::Kind::Ints, "how far, one number for each of dims")
        .attr_none("dims", AttrValue::Kind::Ints, "axes")
        .out("y")
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          const Dims &shifts = attrs[0].ints(), dims = as_list(attrs[1]);
          auto rolled = [](const Tensor& x, int64_t axis, int64_t shift) {
            const int64_t size = x.shape()[static_cast<size_t>(axis)];
            if (size == 0) return x;
            const int64_t start = (size - shift % size) % size;
            if (start == 0) return x;
            const Tensor parts[] = {narrow(x, axis, start, size - start), narrow(x, axis, 0, start)};
            return cat(parts, axis);
          };
          Tensor y = in[0];
          if (dims.empty()) {
            check_runtime(shifts.size() == 1, "without dims there must be one shift, got ", shifts);
            y = reshape(rolled(reshape(y, {y.numel()}), 0, shifts[0]), y.shape());
          } else {
            check_runtime(shifts.size() == dims.size(), "shifts ", shifts, " and dims ", dims, " differ in length");
            check_runtime(y.ndim() > 0, "a 0-d tensor has no axis to roll along");
            for (size_t i = 0; i < dims.size(); ++i) y = rolled(y, normalize_axis(dims[i], y.ndim()), shifts[i]);
          }
          return {y == in[0] || y.body()->storage == in[0].body()->storage ? clone(y) : y};
        });

}  // namespace hw
