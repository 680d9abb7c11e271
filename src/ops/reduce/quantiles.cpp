// Quantiles: between which two sorted elements they lie, and what is made of the two.
#include "ops/reduce/quantiles.h"

#include "base/error.h"
#include "op/math.h"

namespace hw {

/// The fractions as a vector of `dtype`.
static Tensor fractions(const Tensor& q, DType dtype) {
  check_runtime(q.ndim() <= 1, "q must be a number or have one axis, got ", q);
  static const Op least{"amin"}, most{"amax"};
  if (q->wrapped) {
    const double v = q.item().f64();
    check_runtime(v >= 0 && v <= 1, "q must be between 0 and 1, got ", v);
    return full({1}, Scalar(v), dtype);
  }
  check_runtime(q.dtype() == dtype, "q must have the dtype of the input, ", dtype, ", got ", q);
  const Tensor plain = q.alias();
  check_runtime(q.numel() == 0 || (least({plain}).item().f64() >= 0 && most({plain}).item().f64() <= 1),
                "all values of q must be between 0 and 1");
  return reshape(q, {q.numel()});
}

/// The elements at fractional `ranks` of the sorted rows.
static Tensor at_ranks(const Tensor& sorted, const Tensor& ranks, const std::string& how) {
  static const Op gather{"gather"}, floor{"floor"}, ceil{"ceil"}, round{"round"}, lerp{"lerp"};
  auto pick = [&](const Tensor& rank) { return gather({sorted, to(rank.alias(), DType::I64)}, {int64_t{-1}}); };
  if (how == "lower") return pick(floor({ranks}));
  if (how == "higher") return pick(ceil({ranks}));
  if (how == "nearest") return pick(round({ranks}));
  const Tensor below = floor({ranks.alias()});
  const Tensor weight = how == "midpoint" ? full(ranks.shape(), Scalar(0.5), ranks.dtype()) : ranks - below;
  return lerp({pick(below), pick(ceil({ranks})), weight});
}

Tensor quantiles(std::span<const Tensor> in, const Attrs& attrs, bool skip_nan) {
  static const Op sort{"sort"};
  const Tensor &input = in[0], &q = in[1];
  const DType dtype = input.dtype(), wide = dtype == DType::F64 ? DType::F64 : DType::F32;
  const Tensor x = to(input, wide);
  const bool whole = attrs[0].none(), keep = attrs[1].truth();
  const std::string& how = attrs[2].text();
  check_runtime(how == "linear" || how == "lower" || how == "higher" || how == "midpoint" || how == "nearest",
                "interpolation must be 'linear', 'lower', 'higher', 'midpoint' or 'nearest', got '", how, "'");
  const int64_t ndim = x.ndim(), axis = whole ? 0 : normalize_axis(attrs[0].i64(), ndim);
  Dims last;  // the axes, with the one to be reduced at the end
  for (int64_t a = 0; a < ndim; ++a)
    if (a != axis) last.push_back(a);
  if (!whole && ndim > 0) last.push_back(axis);
  const Tensor rows = whole || ndim == 0 ? reshape(x, {x.numel()}) : permute(x, last);
  const int64_t n = rows.size(-1), along = rows.ndim() - 1;
  check_runtime(n > 0, "the input ", x, " has no elements to choose from");
  const Tensor sorted = sort.all({rows}, {int64_t{-1}, false, false})[0];
  const Tensor f = to(fractions(q, dtype), wide), top = narrow(sorted.alias(), along, n - 1, 1);
  Tensor ranks;
  if (skip_nan) {
    const Tensor count = sum(eq(sorted.alias(), sorted.alias()), {along}, true);
    ranks = f * to(maximum(count - Scalar(1), number(0)), wide);
  } else {
    ranks = where(ne(top, top), number(static_cast<double>(n - 1)), f * Scalar(static_cast<double>(n - 1)));
  }
  Tensor y = to(at_ranks(sorted, ranks, how), dtype);  // [..., fractions]
  if (q.ndim() == 0) {
    y = squeeze(y, along);
  } else {
    Dims front{along};
    for (int64_t a = 0; a < along; ++a) front.push_back(a);
    y = permute(y, front);
  }
  if (!keep) return y;
  if (!whole) return ndim == 0 ? y : unsqueeze(y, axis + q.ndim());
  Dims shape(static_cast<size_t>(q.ndim() + ndim), 1);
  if (q.ndim()) shape[0] = q.numel();
  return reshape(y, shape);
}

}  // namespace hw
