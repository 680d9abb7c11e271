// diagonal: a view of diagonals.
#include <algorithm>

#include "base/error.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "ops/shape/axes.h"

namespace hw {

static View view(const TensorSpec& x, const Attrs& attrs) {
  const int64_t n = x.ndim(), offset = std::clamp<int64_t>(attrs[0].i64(), -(int64_t{1} << 60), int64_t{1} << 60);
  check_index(n >= 2, "diagonal() needs at least two axes, got ", x);
  const size_t a = static_cast<size_t>(normalize_axis(attrs[1].i64(), n)),
               b = static_cast<size_t>(normalize_axis(attrs[2].i64(), n));
  check_runtime(a != b, "dim1 and dim2 must differ, both are ", static_cast<int64_t>(a));
  View v;
  for (size_t i = 0; i < x.shape.size(); ++i) {
    if (i == a || i == b) continue;
    v.shape.push_back(x.shape[i]);
    v.strides.push_back(x.strides[i]);
  }
  const int64_t size =
      offset >= 0 ? std::min(x.shape[a], x.shape[b] - offset) : std::min(x.shape[a] + offset, x.shape[b]);
  v.shape.push_back(std::max<int64_t>(size, 0));
  v.strides.push_back(x.strides[a] + x.strides[b]);
  if (size > 0) v.offset = offset >= 0 ? offset * x.strides[b] : -offset * x.strides[a];
  return v;
}

static const RegisterOp op =
    OpDef("diagonal")
        .doc("Returns a view of the diagonal `offset` of the planes of dim1 and dim2, as the last axis.")
        .in("input", "at least two axes")
        .attr("offset", int64_t{0}, "above (positive) or below the main diagonal")
        .attr("dim1", int64_t{0}, "axis of the rows")
        .attr("dim2", int64_t{1}, "axis of the columns")
        .out("y", dtype::same, nullptr)
        .view(view)
        .sbp([](SbpCtx& c) {
          const int64_t n = c.in()[0].ndim();
          const int64_t a = normalize_axis(c.attr("dim1").i64(), n), b = normalize_axis(c.attr("dim2").i64(), n);
          Dims to = axes_in_order(n);
          for (int64_t& axis : to) axis = axis == a || axis == b ? -1 : axis - (axis > a) - (axis > b);
          add_moved_axes(c, to);
        })
        .grad("",
              [](GradCtx& g) {
                static const Op fill{"_diagonal_grad"};
                const int64_t n = g.in_spec(0).ndim();
                g.dx(0, fill({g.dy()},
                             {g.in_spec(0).shape,
                              std::clamp<int64_t>(g.attr("offset").i64(), -(int64_t{1} << 40), int64_t{1} << 40),
                              normalize_axis(g.attr("dim1").i64(), n), normalize_axis(g.attr("dim2").i64(), n)}));
              })
        .onnx("GatherND");

}  // namespace hw
