// Which change is which collective, packing where slices are not dense, waiting.
#include "eager/global/collective.h"

#include <algorithm>
#include <span>
#include <unordered_map>

#include "base/error.h"
#include "eager/global/world.h"
#include "eager/global_hook.h"
#include "op/call.h"

namespace hw {

namespace {

/// Whether each rank of the mesh has a process of its own.
bool one_rank_a_process(const Mesh& mesh) {
  std::vector<bool> seen(static_cast<size_t>(world().processes));
  for (int64_t rank : mesh.ranks) {
    const auto process = static_cast<size_t>(world().process_of(rank));
    if (seen[process]) return false;
    seen[process] = true;
  }
  return true;
}

/// The one change that the axes of the mesh have in common.
struct Change {
  Sbp from = broadcast(), to = broadcast();
  std::vector<bool> changed;
  int64_t axes = 0;
};

std::optional<Change> change_between(const Placement& from, const Placement& to) {
  Change c;
  c.changed.resize(from.sbp.size());
  for (size_t a = 0; a < from.sbp.size(); ++a) {
    if (from.sbp[a].is_partial() && !(from.sbp[a] == partial_sum())) return {};
    if (from.sbp[a] == to.sbp[a] || from.mesh.shape[a] == 1) continue;
    if (c.axes++ && !(c.from == from.sbp[a] && c.to == to.sbp[a])) return {};
    c.from = from.sbp[a];
    c.to = to.sbp[a];
    c.changed[a] = true;
  }
  if (c.axes == 0) return {};
  // Another axis that cuts the same way would put slices of slices in between.
  for (size_t a = 0; a < from.sbp.size(); ++a) {
    if (c.changed[a]) continue;
    for (const Sbp& s : {from.sbp[a], to.sbp[a]})
      if (s.is_split() && (s == c.from || s == c.to)) return {};
  }
  return c;
}

std::optional<Collective> kind_of(const Change& change) {
  Collective c;
  if (change.from.is_split()) c.cut_before = change.from.axis;
  if (change.to.is_split()) c.cut_after = change.to.axis;
  if (change.from == partial_sum() && change.to == broadcast())
    c.kind = Collective::Kind::AllReduce;
  else if (change.from == partial_sum() && change.to.is_split())
    c.kind = Collective::Kind::ReduceScatter;
  else if (change.from.is_split() && change.to == broadcast())
    c.kind = Collective::Kind::AllGather;
  else if (change.from.is_split() && change.to.is_split() && change.axes == 1)
    c.kind = Collective::Kind::AllToAll;
  else
    return {};
  return c;
}

Dims with_size(Dims shape, int64_t axis, int64_t size) {
  shape[static_cast<size_t>(axis)] = size;
  return shape;
}

/// Slices of a dense tensor along an axis: where they begin, and whether they lie one after the other in memory.
bool dense_slices(const Dims& shape, int64_t axis) {
  for (int64_t a = 0; a < axis; ++a)
    if (shape[static_cast<size_t>(a)] != 1) return false;
  return true;
}

/// f(slice of `t` along the axis, the same as a dense piece of `flat`) for slices of these sizes.
template <class F>
void each_slice(const Tensor& t, int64_t axis, const Ints& sizes, const Tensor& flat, F&& f) {
  int64_t begin = 0, at = flat.offset();
  for (int64_t n : sizes) {
    const Dims shape = with_size(t.shape(), axis, n);
    const Tensor piece = flat.alias(shape, contiguous_strides(shape), at);
    f(t.alias(shape, t.strides(), t.offset() + begin * t.strides()[static_cast<size_t>(axis)]), piece);
    begin += n;
    at += piece.numel();
  }
}

/// The tensor with its slices one after the other.
Tensor packed(const Tensor& t, int64_t axis, const Ints& sizes) {
  if (t.contiguous() && (axis < 0 || dense_slices(t.shape(), axis))) return t;
  if (axis < 0) return dense_copy(t);
  Tensor flat = Tensor::empty(t.shape(), t.dtype());
  each_slice(t, axis, sizes, flat, [](const Tensor& slice, const Tensor& piece) { copy_into(piece, slice); });
  return flat;
}

std::vector<size_t> bytes_of(const Ints& sizes, int64_t axis, const Tensor& t) {
  std::vector<size_t> bytes;
  for (int64_t n : sizes) {
    const int64_t count = numel(with_size(t.shape(), axis, n));
    bytes.push_back(static_cast<size_t>(count * dtype_size(t.dtype())));
  }
  return bytes;
}

Request call(const Collective& c, const Moving& m) {
  Comm& comm = *world().messenger->comm();
  const void* in = m.packed.data();
  void* out = m.made.data();
  const DType dtype = m.part.dtype();
  switch (c.kind) {
    case Collective::Kind::AllReduce: return comm.all_reduce(in, out, m.made.numel(), dtype, Reduce::Sum, c.group);
    case Collective::Kind::ReduceScatter: {
      std::vector<int64_t> counts;
      for (size_t bytes : bytes_of(c.after, c.cut_after, m.part))
        counts.push_back(static_cast<int64_t>(bytes) / dtype_size(dtype));
      return comm.reduce_scatter(in, out, counts, dtype, Reduce::Sum, c.group);
    }
    case Collective::Kind::AllGather:
      return comm.all_gather(in, out, bytes_of(c.before, c.cut_before, m.part), c.group);
    case Collective::Kind::AllToAll:
      return comm.all_to_all(in, bytes_of(c.after, c.cut_after, m.part), out, bytes_of(c.before, c.cut_before, m.made),
                             c.group);
  }
  bug("a collective of no kind");
}

}  // namespace

/// The collective, from the sizes of all parts; `group` and sizes grow with the mesh.
static std::optional<Collective> worked_out(const Place* from, const Place* to, const Dims& shape, DType dtype) {
  const Mesh& mesh = from->value.mesh;
  for (int64_t n : shape)
    if (n == 0) return {};
  const std::optional<Change> change = change_between(from->value, to->value);
  if (!change || !one_rank_a_process(mesh)) return {};
  std::optional<Collective> c = kind_of(*change);
  if (!c) return {};
  const Ints own = mesh.coordinates(from->here[0]);
  for (int64_t p = 0; p < mesh.size(); ++p) {
    const Ints at = mesh.coordinates(p);
    bool member = true;
    for (size_t a = 0; a < at.size(); ++a) member = member && (change->changed[a] || at[a] == own[a]);
    if (!member) continue;
    if (p == from->here[0]) c->me = static_cast<int>(c->group.size());
    c->group.push_back(world().process_of(mesh.ranks[static_cast<size_t>(p)]));
    if (c->cut_before >= 0)
      c->before.push_back(local_box(from->value, shape, p)[static_cast<size_t>(c->cut_before)].size());
    if (c->cut_after >= 0) c->after.push_back(local_box(to->value, shape, p)[static_cast<size_t>(c->cut_after)].size());
  }
  // The op "add" rounds each sum of 16-bit floats, a collective rounds once: the same for two.
  if (change->from == partial_sum() && is_reduced(dtype) && c->group.size() > 2) return {};
  return c;
}

std::optional<Collective> collective_between(const Place* from, const Place* to, const Dims& shape, DType dtype) {
  const World& w = world();
  if (w.processes == 1 || t_local_recorder || !w.messenger->comm() || !(from->value.mesh == to->value.mesh)) return {};
  // Asked anew for each gradient of each step. Places live as long as the process, and no process changes its ranks.
  struct Known {
    const Place *from, *to;
    Dims shape;
    DType dtype;
    std::optional<Collective> answer;
  };
  static thread_local std::unordered_map<uint64_t, Known> known;
  uint64_t key = reinterpret_cast<uint64_t>(from) * 0x9e3779b97f4a7c15ull;
  auto mix = [&key](uint64_t word) { key = (key ^ word ^ key >> 29) * 0xbf58476d1ce4e5b9ull; };
  mix(reinterpret_cast<uint64_t>(to));
  mix(static_cast<uint64_t>(dtype));
  for (int64_t n : shape) mix(static_cast<uint64_t>(n));
  if (known.size() > 4096) known.clear();
  auto [at, missing] = known.try_emplace(key);
  Known& k = at->second;
  if (missing || k.from != from || k.to != to || k.dtype != dtype || !(k.shape == shape))
    k = {from, to, shape, dtype, worked_out(from, to, shape, dtype)};
  return k.answer;
}

Moving start(const Collective& c, const Tensor& part, const Dims& shape, const Tensor& into) {
  Moving m;
  m.part = part;
  m.packed = packed(part, c.cut_after, c.after);
  const bool dense = into.defined() && into.contiguous();
  if (c.cut_before >= 0 && !dense_slices(shape, c.cut_before)) {
    m.out = into.defined() ? into : Tensor::empty(shape, part.dtype());
    m.made = Tensor::empty(shape, part.dtype());
  } else {
    m.made = dense ? into : Tensor::empty(shape, part.dtype());
    if (into.defined() && !dense) m.out = into;
  }
  m.request = call(c, m);
  return m;
}

Tensor finish(const Collective& c, Moving& m) {
  throw_unless_ok(m.request->status());
  if (!m.out.defined()) {
    m.made->storage->bump_version();
    return m.made;
  }
  if (c.cut_before < 0)
    copy_into(m.out, m.made);
  else
    each_slice(m.out, c.cut_before, c.before, m.made, copy_into);
  return m.out;
}

Tensor run(const Collective& c, const Tensor& part, const Dims& shape, const Tensor& into) {
  Moving m = start(c, part, shape, into);
  world().messenger->wait({&m.request, 1});
  return finish(c, m);
}

}  // namespace hw
