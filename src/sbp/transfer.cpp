// Transfer lists by intersecting boxes.
#include "sbp/transfer.h"

#include <algorithm>

#include "base/error.h"

namespace hw {

namespace {

/// The partial kinds of a placement that occur; more than one must be resolved from the inside out.
bool mixes_kinds(const Placement& p) {
  const Sbp* first = nullptr;
  for (const Sbp& s : p.sbp) {
    if (!s.is_partial()) continue;
    if (first && !(*first == s)) return true;
    first = &s;
  }
  return false;
}

/// Mesh axes on which the partial values stay where they are.
std::vector<bool> kept_axes(const Placement& from, const Placement& to) {
  std::vector<bool> kept(from.sbp.size());
  if (from.mesh == to.mesh)
    for (size_t a = 0; a < kept.size(); ++a) kept[a] = from.sbp[a].is_partial() && from.sbp[a] == to.sbp[a];
  return kept;
}

/// The positions of the source that position `to` of the target reads: one on broadcast axes, all on others.
class Sources {
 public:
  Sources(const TransferList& list, const std::vector<bool>& kept, int64_t to) : mesh_(list.source.mesh) {
    const Mesh& target = list.target.mesh;
    const int64_t here = mesh_.position_of(target.ranks[static_cast<size_t>(to)]);
    const Ints own = here >= 0 ? mesh_.coordinates(here) : Ints(), there = target.coordinates(to);
    for (size_t a = 0; a < mesh_.shape.size(); ++a) {
      const Sbp& s = list.source.sbp[a];
      if (kept[a])
        first_.push_back(there[a]), count_.push_back(1);
      else if (s == broadcast())
        first_.push_back(here >= 0 ? own[a] : (a < there.size() ? there[a] : to) % mesh_.shape[a]), count_.push_back(1);
      else
        first_.push_back(0), count_.push_back(mesh_.shape[a]);
    }
  }
  /// Calls f(position) for each, in row-major order.
  template <class F>
  void each(F&& f) const {
    Ints at = first_;
    for (;;) {
      f(mesh_.position_at(at));
      size_t a = at.size();
      while (a > 0 && ++at[a - 1] == first_[a - 1] + count_[a - 1]) --a, at[a] = first_[a];
      if (a == 0) return;
    }
  }

 private:
  const Mesh& mesh_;
  Ints first_, count_;
};

/// What fills this position of a target: nothing (broadcast), or the identity of the innermost partial kind of which it is not the
/// first rank.
Sbp filling(const Placement& p, const std::vector<bool>& kept, int64_t position) {
  const Ints at = p.mesh.coordinates(position);
  for (size_t a = p.sbp.size(); a-- > 0;)
    if (p.sbp[a].is_partial() && !kept[a] && at[a] != 0) return p.sbp[a];
  return broadcast();
}

TransferList one_step(const Placement& from, const Placement& to, std::span<const int64_t> shape) {
  TransferList list{from, to, broadcast(), {}, {}};
  const std::vector<bool> kept = kept_axes(from, to);
  for (size_t a = 0; a < from.sbp.size(); ++a)
    if (from.sbp[a].is_partial() && !kept[a]) list.reduction = from.sbp[a];
  const std::vector<bool> kept_in_target = from.mesh == to.mesh ? kept : std::vector<bool>(to.sbp.size());
  for (int64_t d = 0; d < to.mesh.size(); ++d) {
    list.fill.push_back(filling(to, kept_in_target, d));
    if (!(list.fill.back() == broadcast())) continue;
    const Box wanted = local_box(to, shape, d);
    if (is_empty(wanted)) continue;
    const size_t before = list.transfers.size();
    Sources(list, kept, d).each([&](int64_t s) {
      Box box = intersection(wanted, local_box(from, shape, s));
      if (is_empty(box)) return;
      bool again = false;  // the same place was written by another partial value
      for (size_t i = before; i < list.transfers.size() && !again; ++i) again = list.transfers[i].box == box;
      list.transfers.push_back({s, d, std::move(box), again});
    });
  }
  return list;
}

/// On the way from partial to broadcast over three ranks and more: each sums up a part first, then all gather the parts. That moves 2
/// tensors instead of n - 1, and adds each element once. `to` itself where no axis of the tensor is long enough.
Placement by_parts(const Placement& from, const Placement& to, std::span<const int64_t> shape) {
  Placement middle = to;
  if (!(from.mesh == to.mesh) || shape.empty()) return middle;
  const int64_t axis = std::max_element(shape.begin(), shape.end()) - shape.begin();
  int64_t parts = 1;
  for (size_t a = 0; a < to.sbp.size(); ++a) {
    if (to.sbp[a] == split(axis)) return to;
    if (!from.sbp[a].is_partial() || !(to.sbp[a] == broadcast()) || to.mesh.shape[a] < 3) continue;
    middle.sbp[a] = split(axis);
    parts *= to.mesh.shape[a];
  }
  return shape[static_cast<size_t>(axis)] >= parts ? middle : to;
}

}  // namespace

std::vector<TransferList> boxing_steps(const Placement& from, const Placement& to, std::span<const int64_t> shape) {
  std::vector<TransferList> steps;
  Placement now = from;
  while (!(now == to) && mixes_kinds(now)) {  // sum of maxima: the innermost first
    Placement next = now;
    for (size_t a = next.sbp.size(); a-- > 0;)
      if (next.sbp[a].is_partial()) {
        next.sbp[a] = broadcast();
        break;
      }
    steps.push_back(one_step(now, next, shape));
    now = next;
  }
  if (now == to) return steps;
  const Placement middle = by_parts(now, to, shape);
  steps.push_back(one_step(now, middle, shape));
  if (!(middle == to)) steps.push_back(one_step(middle, to, shape));
  return steps;
}

double boxing_bytes(const Sbp& from, const Sbp& to, double bytes, int64_t ranks) {
  if (from == to || ranks == 1 || from == broadcast()) return 0;
  const double n = static_cast<double>(ranks), others = bytes * (n - 1) / n;
  if (from.is_partial()) return to.is_split() ? others : 2 * others;  // reduce-scatter; all-reduce
  if (to.is_split()) return others / n;                               // all-to-all
  return others;  // all-gather; a part in the midst of zeros moves nothing, but makes every rank work on the whole
}

}  // namespace hw
