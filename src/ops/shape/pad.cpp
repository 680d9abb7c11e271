// pad: more elements at the ends of axes.
#include "base/error.h"
#include "op/math.h"
#include "op/number_rule.h"

namespace hw {

static const RegisterOp op =
    OpDef("pad")
        .doc(
            "Returns the input with elements added at the ends of its last axes (or taken away, where a number is "
            "negative): constants, or copies of the input.")
        .example(">>> hw.pad(hw.tensor([1, 2]), (1, 2))\ntensor([0, 1, 2, 0, 0])")
        .in("input", "any shape")
        .attr_required("pad", AttrValue::Kind::Ints, "two numbers for each axis, before and after, the last axis first")
        .attr("mode", "constant",
              "'constant', 'reflect' (mirrored without the edge), 'replicate' (the edge) or 'circular'")
        .attr("value", 0.0, "the constant")
        .method(false)
        .out("y")
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          static const Op constant{"_pad_constant"}, copies{"_pad_copies"};
          const Dims& pad = attrs[0].ints();
          const std::string& mode = attrs[1].text();
          check_runtime(pad.size() % 2 == 0, "pad must hold two numbers for each axis, got ", pad);
          check_runtime(static_cast<int64_t>(pad.size()) / 2 <= in[0].ndim(), "pad ", pad, " names more axes than ",
                        in[0], " has");
          if (mode == "constant") check_stored("value", Scalar(attrs[2].f64()), in[0].dtype());
          if (mode == "constant") return {constant({in[0]}, {pad, attrs[2].f64()})};
          check_runtime(mode == "reflect" || mode == "replicate" || mode == "circular",
                        "mode must be 'constant', 'reflect', 'replicate' or 'circular', got '", mode, "'");
          return {copies({in[0]}, {pad, mode})};
        });

}  // namespace hw
