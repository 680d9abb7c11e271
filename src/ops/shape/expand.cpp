// expand: axes of size 1 seen as larger ones.
#include "base/error.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "ops/shape/axes.h"

namespace hw {

static View view(const TensorSpec& x, const Attrs& attrs) {
  const Dims& size = attrs[0].ints();
  check_runtime(size.size() >= x.shape.size(), "size ", size, " has fewer axes than the input ", x);
  View v;
  size_t lead = size.size() - x.shape.size();
  for (size_t i = 0; i < size.size(); ++i) {
    int64_t want = size[i];
    if (i < lead) {
      check_runtime(want >= 0, "size ", want, " is not allowed for the new axis ", static_cast<int64_t>(i), " of ",
                    size);
      v.shape.push_back(want);
      v.strides.push_back(0);
      continue;
    }
    int64_t have = x.shape[i - lead];
    if (want == -1) want = have;
    check_runtime(want == have || (have == 1 && want >= 0), "size ", want, " at axis ", static_cast<int64_t>(i), " of ",
                  size, " does not match size ", have, " of the input: only axes of size 1 can be expanded");
    v.shape.push_back(want);
    v.strides.push_back(want == have ? x.strides[i - lead] : 0);
  }
  return v;
}

static const RegisterOp op =
    OpDef("expand")
        .doc(
            "Returns a view in which axes of size 1 repeat, without copying; -1 keeps a size. New "
            "axes may be put in front.")
        .example(">>> hw.expand(hw.tensor([[1], [2]]), (-1, 3))\ntensor([[1, 1, 1],\n        [2, 2, 2]])")
        .in("input", "any shape")
        .attr_required("size", AttrValue::Kind::Ints, "the shape of the view")
        .varargs()
        .attr("implicit", false, "accepted; of no effect")
        .keyword()
        .out("y", dtype::same, nullptr)
        .view(view)
        .sbp([](SbpCtx& c) {
          // Each rank gets the size of its own part, so that axes that stay as they are may be split; and new ones may, too.
          const Dims &x = c.in()[0].shape, &y = c.out()[0].shape;
          const int64_t lead = static_cast<int64_t>(y.size() - x.size());
          Dims to = axes_in_order(c.in()[0].ndim());
          for (int64_t a = 0; a < c.out()[0].ndim(); ++a) {
            const bool kept = a >= lead && x[static_cast<size_t>(a - lead)] == y[static_cast<size_t>(a)];
            if (a >= lead) to[static_cast<size_t>(a - lead)] = kept ? a : -1;
            if (!kept) c.add({broadcast()}, {split(a)});
          }
          add_moved_axes(c, to);
        })
        .grad("", [](GradCtx& g) { g.dx(0, g.dy()); })
        .onnx("Expand");

}  // namespace hw
