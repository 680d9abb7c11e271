// The SBP rule library.
#include "op/rules.h"

namespace hw {

/// The axis of input `s` that feeds axis `axis` of an output of `ndim` axes, or -1 if it is broadcast there.
static int64_t source_axis(const TensorSpec& s, int64_t axis, int64_t ndim, int64_t size) {
  int64_t at = axis - (ndim - s.ndim());
  if (at < 0 || s.shape[static_cast<size_t>(at)] != size) return -1;
  return at;
}

namespace sbp {

void broadcast_only(SbpCtx&) {}

void elementwise(SbpCtx& c) {
  const TensorSpec& y = c.out()[0];
  for (int64_t axis = 0; axis < y.ndim(); ++axis) {
    std::vector<Sbp> in;
    for (const TensorSpec& s : c.in()) {
      int64_t at = s.given() ? source_axis(s, axis, y.ndim(), y.shape[static_cast<size_t>(axis)]) : -1;
      in.push_back(at < 0 ? broadcast() : split(at));
    }
    c.add(std::move(in), std::vector<Sbp>(c.out().size(), split(axis)));
  }
}

void linear(SbpCtx& c) {
  elementwise(c);
  for (size_t i = 0; i < c.in().size(); ++i) {
    if (!c.in()[i].given()) continue;
    std::vector<Sbp> in(c.in().size());
    in[i] = partial_sum();
    c.add(std::move(in), {partial_sum()});
  }
}

void additive(SbpCtx& c) {
  elementwise(c);
  c.add(std::vector<Sbp>(c.in().size(), partial_sum()), {partial_sum()});
}

static void reduce(SbpCtx& c, const Sbp* partial) {
  const TensorSpec& x = c.in()[0];
  const AttrValue& dim = c.attr("dim");
  Dims given = dim.kind() == AttrValue::Kind::Int ? Dims{dim.i64()} : dim.none() ? Dims{} : dim.ints();
  Dims axes = normalize_axes(given, x.ndim());
  bool keepdim = c.attr("keepdim").truth();
  int64_t out_axis = 0;
  for (int64_t axis = 0; axis < x.ndim(); ++axis) {
    bool reduced = std::find(axes.begin(), axes.end(), axis) != axes.end();
    if (!reduced) c.add({split(axis)}, std::vector<Sbp>(c.out().size(), split(out_axis)));
    if (reduced && partial && x.shape[static_cast<size_t>(axis)] > 0) c.add({split(axis)}, {*partial});
    out_axis += !reduced || keepdim;
  }
}

void reduce_sum(SbpCtx& c) {
  const Sbp p = partial_sum();
  reduce(c, &p);
  c.add({partial_sum()}, {partial_sum()});
}
void reduce_max(SbpCtx& c) {
  const Sbp p = partial_max();
  reduce(c, &p);
}
void reduce_min(SbpCtx& c) {
  const Sbp p = partial_min();
  reduce(c, &p);
}
void reduce_plain(SbpCtx& c) { reduce(c, nullptr); }

void along_dim(SbpCtx& c) {
  const TensorSpec& x = c.in()[0];
  if (x.ndim() == 0) return;
  int64_t dim = normalize_axis(c.attr("dim").i64(), x.ndim());
  for (int64_t axis = 0; axis < x.ndim(); ++axis)
    if (axis != dim) c.add(std::vector<Sbp>(c.in().size(), split(axis)), std::vector<Sbp>(c.out().size(), split(axis)));
}

}  // namespace sbp

std::vector<SbpSignature> sbp_signatures(const InferCtx& infer, std::span<const TensorSpec> out) {
  std::vector<SbpSignature> list;
  list.push_back({std::vector<Sbp>(infer.in.size()), std::vector<Sbp>(out.size())});
  if (infer.op.sbp_rule()) {
    SbpCtx c(infer, out, list);
    infer.op.sbp_rule()(c);
  }
  return list;
}

}  // namespace hw
