// Lifetimes by one walk over the nodes.
#include "compiler/memory_profile.h"

#include <algorithm>

#include "compiler/regions/aliasing.h"
#include "compiler/roots.h"

namespace hw {

static int64_t aligned_bytes(const TensorSpec& s) {
  int64_t n = s.numel() ? 1 : 0;
  for (size_t i = 0; i < s.shape.size() && n; ++i) n += (s.shape[i] - 1) * s.strides[i];
  return (n * dtype_size(s.dtype) + 63) / 64 * 64;
}

MemoryProfile memory_profile(const Graph& g) {
  MemoryProfile p;
  const Roots roots(g);
  p.life_of.assign(g.values.size(), kNone);
  const int32_t steps = static_cast<int32_t>(g.order.size());
  for (int32_t at = 0; at < steps; ++at) {
    const Node& n = g.node(g.order[static_cast<size_t>(at)]);
    for (ValueId v : n.outputs) {
      if (roots.root(v) == v) {
        p.life_of[static_cast<size_t>(v)] = static_cast<int32_t>(p.lives.size());
        p.lives.push_back({v, aligned_bytes(g.spec(v)), at, at, {}, false});
      } else {
        p.life_of[static_cast<size_t>(v)] = p.life_of[static_cast<size_t>(roots.root(v))];
      }
    }
    for (size_t i = 0; i < n.inputs.size(); ++i) {
      if (!reads_input(n, i)) continue;
      const int32_t l = p.life_of[static_cast<size_t>(n.inputs[i])];
      if (l == kNone) continue;
      p.lives[static_cast<size_t>(l)].last = at;
      p.lives[static_cast<size_t>(l)].uses.push_back(at);
    }
  }
  for (const GraphResult& r : g.results)
    if (int32_t l = p.life_of[static_cast<size_t>(r.value)]; l != kNone) p.lives[static_cast<size_t>(l)].held = true;
  std::vector<int64_t> change(static_cast<size_t>(steps) + 2);
  for (const Life& l : p.lives) {
    if (l.held) continue;
    change[static_cast<size_t>(l.made)] += l.bytes;
    change[static_cast<size_t>(l.last) + 1] -= l.bytes;
  }
  p.bytes.resize(static_cast<size_t>(steps));
  int64_t alive = 0;
  for (int32_t at = 0; at < steps; ++at) {
    p.bytes[static_cast<size_t>(at)] = alive += change[static_cast<size_t>(at)];
    if (alive > p.peak) {
      p.peak = alive;
      p.peak_at = at;
    }
  }
  return p;
}

}  // namespace hw
