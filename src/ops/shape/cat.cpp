// cat: tensors one after another along an axis.
#include "base/error.h"
#include "op/cost.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

/// torch's exception: a 1-d tensor without elements fits anywhere.
static bool is_skipped(const TensorSpec& s) { return s.ndim() == 1 && s.shape[0] == 0; }

static const TensorSpec& model(std::span<const TensorSpec> in) {
  for (const TensorSpec& s : in)
    if (!is_skipped(s)) return s;
  return in[0];
}

static Dims shape_of(const InferCtx& c) {
  check_runtime(!c.in.empty(), "the list of tensors is empty");
  const TensorSpec& first = model(c.in);
  check_runtime(first.ndim() > 0, "0-d tensors cannot be concatenated; use stack()");
  Dims shape = first.shape;
  size_t axis = static_cast<size_t>(normalize_axis(c.attr("dim").i64(), first.ndim()));
  shape[axis] = 0;
  for (size_t i = 0; i < c.in.size(); ++i) {
    const TensorSpec& s = c.in[i];
    if (is_skipped(s)) continue;
    check_runtime(s.ndim() == first.ndim(), "tensors[", static_cast<int64_t>(i), "] is ", s, ", but ", first, " has ",
                  first.ndim(), " axes");
    for (size_t a = 0; a < shape.size(); ++a)
      check_runtime(a == axis || s.shape[a] == shape[a], "tensors[", static_cast<int64_t>(i), "] is ", s, ": size ",
                    s.shape[a], " at axis ", static_cast<int64_t>(a), " differs from ", shape[a],
                    ". Only sizes along dim may differ.");
    check(!__builtin_add_overflow(shape[axis], s.shape[axis], &shape[axis]), "axis ", static_cast<int64_t>(axis),
          " of the result exceeds 2^63 - 1 elements");
  }
  return shape;
}

static void split_other_axes(SbpCtx& c) {
  const TensorSpec& first = model(c.in());
  bool skips = false;
  for (const TensorSpec& s : c.in()) skips |= is_skipped(s);
  int64_t axis = normalize_axis(c.attr("dim").i64(), first.ndim());
  for (int64_t a = 0; a < first.ndim() && !skips; ++a)
    if (a != axis) c.add(std::vector<Sbp>(c.in().size(), split(a)), {split(a)});
  c.add(std::vector<Sbp>(c.in().size(), partial_sum()), {partial_sum()});
}

static const RegisterOp op =
    OpDef("cat")
        .doc("Returns the tensors one after another along the axis `dim`. Dtypes are promoted.")
        .example(">>> hw.cat([hw.tensor([1, 2]), hw.tensor([3])])\ntensor([1, 2, 3])")
        .in_list("tensors", "shapes that differ along dim only")
        .attr("dim", int64_t{0}, "the axis")
        .out("y", dtype::promoted, shape_of)
        .promote()
        .autocast(Autocast::Widest)
        .flops(cost::bandwidth_bound)
        .sbp(split_other_axes)
        .grad("",
              [](GradCtx& g) {
                int64_t axis = normalize_axis(g.attr("dim").i64(), g.out_spec().ndim()), at = 0;
                Tensor dy = g.dy();
                for (size_t i = 0; i < g.num_inputs(); ++i) {
                  const TensorSpec& s = g.in_spec(i);
                  if (is_skipped(s)) {
                    if (g.needs(i)) g.dx(i, zeros(s.shape, dy.dtype()));
                    continue;
                  }
                  int64_t length = s.shape[static_cast<size_t>(axis)];
                  if (g.needs(i)) g.dx(i, narrow(dy, axis, at, length));
                  at += length;
                }
              })
        .onnx("Concat");

}  // namespace hw
