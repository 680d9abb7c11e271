// rot90: quarter turns.
#include "base/error.h"
#include "op/math.h"

namespace hw {

static const RegisterOp op =
    OpDef("rot90")
        .doc(
            "Returns the input turned by k quarter turns in the plane of the axes `dims`, from the first towards the "
            "second.")
        .in("input", "at least two axes")
        .attr("k", int64_t{1}, "how many quarter turns")
        .attr("dims", Dims{0, 1}, "the plane")
        .out("y")
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          const int64_t n = in[0].ndim();
          check_runtime(attrs[1].ints().size() == 2 && n >= 2, "dims must name two of at least two axes, got ",
                        attrs[1].ints(), " for ", in[0]);
          const int64_t a = normalize_axis(attrs[1].ints()[0], n), b = normalize_axis(attrs[1].ints()[1], n);
          check_runtime(a != b, "the axes of the plane must differ, got ", attrs[1].ints());
          switch ((attrs[0].i64() % 4 + 4) % 4) {
            case 1: return {transpose(flip(in[0], {b}), a, b)};
            case 2: return {flip(in[0], {a, b})};
            case 3: return {flip(transpose(in[0], a, b), {b})};
            default: return {clone(in[0])};
          }
        });

}  // namespace hw
