// Greedy grouping in program order: a node joins the region of one of its producers when the split rules agree, when a tile still
// fits the cache, and when no path leaves the region and comes back.
#include "compiler/regions/form_regions.h"

#include <algorithm>

#include "base/text.h"
#include "compiler/regions/region.h"

namespace hw {

namespace {

using Axes = SmallVec<int32_t, 8>;
constexpr int64_t kMostTileBytes = 1 << 17;  // of one index of all loops: beyond that a tile does not fit the cache
constexpr size_t kMostMembers = 64;
constexpr int32_t kFarthest = 256;  // nodes between a region's last member and one that joins

struct Region {
  std::vector<NodeId> members;  // in order
  Dims loops;
  int32_t first = 0, last = 0;  // positions
  bool dead = false;            // merged into another
};

class Former {
 public:
  explicit Former(Graph& graph) : g_(graph) {}
  int run();

 private:
  void visit(NodeId id);
  bool try_join(NodeId id, int32_t region);
  void start(NodeId id);
  void absorb(int32_t into, NodeId id, const NodeAxes& axes);
  bool try_merge(int32_t into, int32_t other);
  bool reaches(std::span<const ValueId> from, int32_t region, NodeId except) const;
  bool returns_to(int32_t from, int32_t to) const;
  int64_t tile_bytes(const Region& r, size_t loops) const;
  std::vector<Axes> known_axes(const Node& n, int32_t region, size_t loops) const;
  std::vector<int32_t> in_circles() const;
  void break_circles();
  void find_outside();
  NodeId build_region(const Region& r);
  bool is_read(const Region& r) const;
  void reorder(const std::vector<NodeId>& node_of_region);
  int32_t region_of(ValueId v) const { return v == kNone ? kNone : value_region_[static_cast<size_t>(v)]; }
  void put(NodeId id, int32_t region) {
    region_of_[static_cast<size_t>(id)] = region;
    for (ValueId v : g_.node(id).outputs) value_region_[static_cast<size_t>(v)] = region;
  }

  Graph& g_;
  std::vector<Region> regions_;
  std::vector<int32_t> region_of_;     // by node
  std::vector<int32_t> value_region_;  // by value
  std::vector<bool> outside_;          // by value: used by something outside of its region
  std::vector<int32_t> position_;      // by node
  std::vector<Axes> axes_;             // by value: along the loops of its region
  mutable std::vector<int32_t> seen_;
  mutable int32_t mark_ = 0;
};

/// What one index of all loops touches.
int64_t Former::tile_bytes(const Region& r, size_t loops) const {
  int64_t bytes = 0;
  for (NodeId id : r.members)
    for (ValueId v : g_.node(id).outputs) {
      int64_t n = g_.spec(v).numel();
      for (size_t j = 0; j < loops; ++j)
        if (axes_[static_cast<size_t>(v)][j] >= 0) n /= std::max<int64_t>(r.loops[j], 1);
      bytes += n * dtype_size(g_.spec(v).dtype);
    }
  return bytes;
}

std::vector<Axes> Former::known_axes(const Node& n, int32_t region, size_t loops) const {
  std::vector<Axes> known(n.inputs.size());
  for (size_t i = 0; i < n.inputs.size(); ++i) {
    if (region_of(n.inputs[i]) != region || region == kNone) continue;
    const Axes& all = axes_[static_cast<size_t>(n.inputs[i])];
    known[i].assign(all.data(), loops);
  }
  return known;
}

/// Whether some value of `from` depends on a region by a path outside of it. Nodes before its first member are taken not to; that a later
/// member of a third region makes one of them wait for this one is left to break_circles.
bool Former::reaches(std::span<const ValueId> from, int32_t region, NodeId except) const {
  const int32_t first = regions_[static_cast<size_t>(region)].first;
  ++mark_;
  std::vector<NodeId> stack;
  auto push = [&](ValueId v) {
    if (v == kNone) return;
    NodeId p = g_.values[static_cast<size_t>(v)].producer;
    if (p == kNone || seen_[static_cast<size_t>(p)] == mark_ || p == except) return;
    seen_[static_cast<size_t>(p)] = mark_;
    stack.push_back(p);
  };
  for (ValueId v : from)
    if (region_of(v) != region) push(v);
  while (!stack.empty()) {
    NodeId id = stack.back();
    stack.pop_back();
    const int32_t at = region_of_[static_cast<size_t>(id)];
    if (at == region) return true;
    if (at != kNone) {  // the whole other region comes before
      for (NodeId m : regions_[static_cast<size_t>(at)].members) {
        if (seen_[static_cast<size_t>(m)] != mark_) seen_[static_cast<size_t>(m)] = mark_;
        for (ValueId v : g_.node(m).inputs)
          if (region_of(v) != at) push(v);
      }
      continue;
    }
    if (position_[static_cast<size_t>(id)] < first) continue;
    for (ValueId v : g_.node(id).inputs) push(v);
  }
  return false;
}

bool Former::returns_to(int32_t from, int32_t to) const {
  for (NodeId m : regions_[static_cast<size_t>(from)].members) {
    std::vector<ValueId> outside;
    for (ValueId v : g_.node(m).inputs)
      if (region_of(v) != from && region_of(v) != to) outside.push_back(v);
    if (reaches(outside, to, kNone)) return true;
  }
  return false;
}

void Former::absorb(int32_t into, NodeId id, const NodeAxes& axes) {
  Region& r = regions_[static_cast<size_t>(into)];
  const Node& n = g_.node(id);
  r.members.push_back(id);
  r.last = position_[static_cast<size_t>(id)];
  put(id, into);
  for (size_t i = 0; i < n.outputs.size(); ++i) axes_[static_cast<size_t>(n.outputs[i])] = axes.outputs[i];
}

void Former::start(NodeId id) {
  const Node& n = g_.node(id);
  const TensorSpec& y = g_.spec(n.outputs[0]);
  if (y.numel() < 2) return;
  NodeAxes axes = follow_loops(g_, n, std::vector<Axes>(n.inputs.size()), std::min<size_t>(y.shape.size(), 8));
  if (axes.outputs[0].empty()) return;
  Region r;
  for (int32_t a : axes.outputs[0]) r.loops.push_back(y.shape[static_cast<size_t>(a)]);
  r.first = position_[static_cast<size_t>(id)];
  regions_.push_back(r);
  absorb(static_cast<int32_t>(regions_.size() - 1), id, axes);
  if (tile_bytes(regions_.back(), r.loops.size()) > kMostTileBytes) {
    put(id, kNone);
    regions_.pop_back();
  }
}

bool Former::try_join(NodeId id, int32_t region) {
  Region& r = regions_[static_cast<size_t>(region)];
  const Node& n = g_.node(id);
  if (position_[static_cast<size_t>(id)] - r.last > kFarthest || r.members.size() >= kMostMembers) return false;
  const size_t loops = r.loops.size();
  NodeAxes axes = follow_loops(g_, n, known_axes(n, region, loops), loops);
  const size_t left = axes.outputs.empty() ? 0 : axes.outputs[0].size();
  if (left == 0) return false;
  for (size_t j = 0; j < left; ++j)
    if (g_.spec(n.outputs[0]).shape[static_cast<size_t>(axes.outputs[0][j])] != r.loops[j]) return false;
  if (reaches(n.inputs, region, id)) return false;
  Region after = r;
  for (size_t i = 0; i < n.outputs.size(); ++i) axes_[static_cast<size_t>(n.outputs[i])] = axes.outputs[i];
  after.members.push_back(id);
  if (tile_bytes(after, left) > kMostTileBytes) return false;
  r.loops.resize(left);
  absorb(region, id, axes);
  return true;
}

/// After a node took values of two regions: one region of both, if they walk the same loops.
bool Former::try_merge(int32_t into, int32_t other) {
  Region &a = regions_[static_cast<size_t>(into)], &b = regions_[static_cast<size_t>(other)];
  if (a.members.size() + b.members.size() > kMostMembers) return false;
  const size_t loops = std::min(a.loops.size(), b.loops.size());
  for (size_t j = 0; j < loops; ++j)
    if (a.loops[j] != b.loops[j]) return false;
  // Values of b that a reads must be walked as b walks them.
  for (NodeId m : a.members) {
    const Node& n = g_.node(m);
    std::vector<Axes> known(n.inputs.size());
    for (size_t i = 0; i < n.inputs.size(); ++i)
      if (int32_t at = region_of(n.inputs[i]); at == into || at == other)
        known[i].assign(axes_[static_cast<size_t>(n.inputs[i])].data(), loops);
    if (follow_loops(g_, n, known, loops).outputs[0].size() != loops) return false;
  }
  if (returns_to(into, other) || returns_to(other, into)) return false;
  Region both = a;
  both.loops.resize(loops);
  both.members.insert(both.members.end(), b.members.begin(), b.members.end());
  std::sort(both.members.begin(), both.members.end(),
            [&](NodeId x, NodeId y) { return position_[static_cast<size_t>(x)] < position_[static_cast<size_t>(y)]; });
  if (tile_bytes(both, loops) > kMostTileBytes) return false;
  both.first = std::min(a.first, b.first);
  both.last = std::max(a.last, b.last);
  for (NodeId m : b.members) put(m, into);
  a = std::move(both);
  b.dead = true;
  b.members.clear();
  return true;
}

void Former::visit(NodeId id) {
  const Node& n = g_.node(id);
  if (!is_tileable(n)) return;
  std::vector<int32_t> candidates;
  for (ValueId v : n.inputs)
    if (int32_t r = region_of(v); r != kNone && std::find(candidates.begin(), candidates.end(), r) == candidates.end())
      candidates.push_back(r);
  std::sort(candidates.begin(), candidates.end(), [&](int32_t a, int32_t b) {
    return regions_[static_cast<size_t>(a)].last > regions_[static_cast<size_t>(b)].last;
  });
  for (int32_t c : candidates) {
    if (!try_join(id, c)) continue;
    for (int32_t other : candidates)
      if (other != c && !regions_[static_cast<size_t>(other)].dead) try_merge(c, other);
    return;
  }
  start(id);
}

NodeId Former::build_region(const Region& r) {
  auto body = std::make_shared<Graph>();
  body->name = "region";
  body->origins = g_.origins;
  std::vector<ValueId> map(g_.values.size(), kNone), inputs, outputs;
  std::vector<Axes> axes;  // by value of the body
  const size_t loops = r.loops.size();
  // One source for each way in which a value from outside is walked.
  struct Entry {
    ValueId outer, inner;
    Axes axes;
  };
  std::vector<Entry> entries;
  auto source = [&](ValueId v, const Axes& a) {
    for (const Entry& e : entries)
      if (e.outer == v && e.axes == a) return e.inner;
    ValueId made = body->add_source(GraphSource::Kind::Input, g_.spec(v), text("in", entries.size()));
    entries.push_back({v, made, a});
    axes.resize(body->values.size());
    axes[static_cast<size_t>(made)] = a;
    inputs.push_back(v);
    return made;
  };
  for (NodeId id : r.members) {
    const Node& n = g_.node(id);
    const int32_t region = region_of_[static_cast<size_t>(id)];
    NodeAxes a = follow_loops(g_, n, known_axes(n, region, loops), loops);
    std::vector<ValueId> in;
    for (size_t i = 0; i < n.inputs.size(); ++i) {
      const ValueId v = n.inputs[i];
      in.push_back(v == kNone ? kNone : region_of(v) == region ? map[static_cast<size_t>(v)] : source(v, a.inputs[i]));
    }
    std::vector<TensorSpec> specs;
    for (ValueId v : n.outputs) specs.push_back(g_.spec(v));
    NodeId made = body->make_node(n.op, std::move(in), n.attrs, specs, n.origin);
    body->order.push_back(made);
    axes.resize(body->values.size());
    for (size_t i = 0; i < n.outputs.size(); ++i) {
      map[static_cast<size_t>(n.outputs[i])] = body->node(made).outputs[i];
      axes[static_cast<size_t>(body->node(made).outputs[i])] = a.outputs[i];
    }
  }
  NodeId id = g_.make_node(std::string(kRegion), inputs, {}, {}, g_.node(r.members.back()).origin);
  Node& node = g_.node(id);
  for (NodeId m : r.members)
    for (ValueId v : g_.node(m).outputs) {
      if (!outside_[static_cast<size_t>(v)]) continue;
      body->results.push_back({GraphResult::Kind::Output, map[static_cast<size_t>(v)], kNone});
      g_.values[static_cast<size_t>(v)].producer = id;
      g_.values[static_cast<size_t>(v)].slot = static_cast<int32_t>(node.outputs.size());
      node.outputs.push_back(v);
    }
  Dims flat;
  for (const Axes& a : axes)
    for (size_t j = 0; j < loops; ++j) flat.push_back(a[j]);
  node.attrs = {AttrValue(r.loops), AttrValue(flat)};
  node.bodies.push_back(std::move(body));
  return id;
}

/// Dead nodes stay as they are: with remove_dead off there may be some.
bool Former::is_read(const Region& r) const {
  for (NodeId m : r.members)
    for (ValueId v : g_.node(m).outputs)
      if (outside_[static_cast<size_t>(v)]) return true;
  return false;
}

/// Regions that wait for each other: what remains when everything that can be placed is.
std::vector<int32_t> Former::in_circles() const {
  const size_t nodes = g_.nodes.size();
  const auto unit = [&](NodeId n) {
    const int32_t r = region_of_[static_cast<size_t>(n)];
    return r == kNone ? static_cast<size_t>(n) : nodes + static_cast<size_t>(r);
  };
  std::vector<std::vector<size_t>> readers(nodes + regions_.size());
  std::vector<int32_t> waits(nodes + regions_.size(), 0);
  for (NodeId id : g_.order)
    for (ValueId v : g_.node(id).inputs) {
      const NodeId p = v == kNone ? kNone : g_.values[static_cast<size_t>(v)].producer;
      if (p == kNone || unit(p) == unit(id)) continue;
      readers[unit(p)].push_back(unit(id));
      ++waits[unit(id)];
    }
  std::vector<size_t> ready;
  for (size_t u = 0; u < waits.size(); ++u)
    if (waits[u] == 0) ready.push_back(u);
  while (!ready.empty()) {
    const size_t u = ready.back();
    ready.pop_back();
    for (size_t reader : readers[u])
      if (--waits[reader] == 0) ready.push_back(reader);
  }
  std::vector<int32_t> left;
  for (size_t r = 0; r < regions_.size(); ++r)
    if (waits[nodes + r] > 0) left.push_back(static_cast<int32_t>(r));
  return left;
}

/// Gives up the smallest region of those that wait for each other, until none does.
void Former::break_circles() {
  for (std::vector<int32_t> left = in_circles(); !left.empty(); left = in_circles()) {
    Region& least = regions_[static_cast<size_t>(*std::min_element(left.begin(), left.end(), [&](int32_t a, int32_t b) {
      return regions_[static_cast<size_t>(a)].members.size() < regions_[static_cast<size_t>(b)].members.size();
    }))];
    for (NodeId m : least.members) put(m, kNone);
    least.members.clear();
    least.dead = true;
  }
}

void Former::find_outside() {
  outside_.assign(g_.values.size(), false);
  for (NodeId id : g_.order)
    for (ValueId v : g_.node(id).inputs)
      if (v != kNone && region_of(v) != region_of_[static_cast<size_t>(id)]) outside_[static_cast<size_t>(v)] = true;
  for (const GraphResult& r : g_.results) outside_[static_cast<size_t>(r.value)] = true;
}

/// Program order again, with every region in one place: after all it needs, before all that need it.
void Former::reorder(const std::vector<NodeId>& node_of_region) {
  std::vector<NodeId> order;
  std::vector<uint8_t> state(g_.nodes.size());  // 1: waiting for inputs, 2: placed
  auto place = [&](NodeId top) {
    std::vector<NodeId> stack{top};
    while (!stack.empty()) {
      NodeId id = stack.back();
      uint8_t& s = state[static_cast<size_t>(id)];
      if (s == 0) {
        s = 1;
        for (ValueId v : g_.node(id).inputs) {
          NodeId p = v == kNone ? kNone : g_.values[static_cast<size_t>(v)].producer;
          if (p != kNone && state[static_cast<size_t>(p)] == 0) stack.push_back(p);
        }
        continue;
      }
      stack.pop_back();
      if (s == 1) order.push_back(id);
      s = 2;
    }
  };
  for (NodeId id : g_.order) {
    const int32_t r = region_of_[static_cast<size_t>(id)];
    const NodeId made = r == kNone ? kNone : node_of_region[static_cast<size_t>(r)];
    if (made == kNone)
      place(id);
    else if (regions_[static_cast<size_t>(r)].members.back() == id)
      place(made);
  }
  g_.order = std::move(order);
}

int Former::run() {
  region_of_.assign(g_.nodes.size(), kNone);
  value_region_.assign(g_.values.size(), kNone);
  position_.assign(g_.nodes.size(), 0);
  axes_.resize(g_.values.size());
  seen_.assign(g_.nodes.size(), 0);
  for (size_t i = 0; i < g_.order.size(); ++i) position_[static_cast<size_t>(g_.order[i])] = static_cast<int32_t>(i);
  for (NodeId id : g_.order) visit(id);
  break_circles();
  find_outside();
  std::vector<NodeId> made(regions_.size(), kNone);
  int count = 0;
  for (size_t i = 0; i < regions_.size(); ++i) {
    if (regions_[i].members.size() < 2 || !is_read(regions_[i])) continue;
    made[i] = build_region(regions_[i]);
    ++count;
  }
  if (count) reorder(made);
  return count;
}

}  // namespace

int form_regions(Graph& graph) { return Former(graph).run(); }

}  // namespace hw
