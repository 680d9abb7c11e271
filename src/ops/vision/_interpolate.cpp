// _interpolate: the last axes resized, by weights that depend on positions only.
#include "base/error.h"
#include "op/cost.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const Op interpolate_grad{"_interpolate_grad"};

static Dims interpolate_shape(const InferCtx& c) {
  const Dims& size = c.attr("size").ints();
  Dims out = c.in[0].shape;
  check_runtime(size.size() >= 1 && size.size() <= 3 && size.size() <= out.size(), "size ", size,
                " does not fit input ", out);
  for (size_t a = 0; a < size.size(); ++a) {
    size_t axis = out.size() - size.size() + a;
    check_runtime(size[a] > 0 && out[axis] > 0, "input and output sizes must be positive, got ", c.in[0].shape, " and ",
                  size);
    check_runtime(size[a] <= int64_t{1} << 28, "an axis of ", size[a], " points is more than 2^28");
    out[axis] = size[a];
  }
  return out;
}

static const RegisterOp op =
    OpDef("_interpolate")
        .doc("The last axes resized to `size`; see interpolate.")
        .in("input", "[..., spatial axes]", floating)
        .attr_required("size", AttrValue::Kind::Ints, "new sizes of the last axes")
        .attr("mode", "nearest", "nearest, nearest-exact, linear, bicubic, or one of the last two with -antialias")
        .attr("align_corners", false)
        .attr("scales", std::vector<double>{}, "the factors that the user gave; 0: from the sizes")
        .out("y", dtype::same, interpolate_shape)
        .internal()
        .flops(cost::resampling)
        .sbp([](SbpCtx& c) {
          int64_t leading = c.in()[0].ndim() - static_cast<int64_t>(c.attr("size").ints().size());
          for (int64_t axis = 0; axis < leading; ++axis) c.add({split(axis)}, {split(axis)});
          c.add({partial_sum()}, {partial_sum()});
        })
        .grad("",
              [](GradCtx& g) {
                const Attrs& a = g.attrs();
                g.dx(0, interpolate_grad({g.dy()}, {g.in_spec(0).shape, a[0], a[1], a[2], a[3]}));
              })
        .onnx("Resize");

}  // namespace hw
