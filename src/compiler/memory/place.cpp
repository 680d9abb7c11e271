// Offsets by greedy placement under several orders; overlapping lifetimes never share bytes.
#include "compiler/memory/place.h"

#include <algorithm>
#include <numeric>

namespace hw {

namespace {

constexpr int64_t kAlign = 64;
int64_t aligned(int64_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

bool overlap(const Block& a, const Block& b) { return a.first <= b.last && b.first <= a.last; }

/// Sum of live blocks, step by step; its maximum bounds every placement from below.
int64_t most_alive(std::span<const Block> blocks) {
  int32_t steps = 0;
  for (const Block& b : blocks) steps = std::max(steps, b.last + 1);
  std::vector<int64_t> change(static_cast<size_t>(steps) + 1);
  for (const Block& b : blocks) {
    change[static_cast<size_t>(b.first)] += aligned(b.bytes);
    change[static_cast<size_t>(b.last) + 1] -= aligned(b.bytes);
  }
  int64_t alive = 0, most = 0;
  for (int64_t c : change) most = std::max(most, alive += c);
  return most;
}

struct Range {
  int64_t start, end;
};

/// Places blocks in the given order, each into the lowest gap (or the tightest one) among those it lives with.
Placement place_in(std::span<const Block> blocks, std::span<const uint32_t> order, bool tightest, int64_t give_up) {
  Placement p;
  p.offsets.assign(blocks.size(), 0);
  std::vector<uint32_t> placed;  // by offset
  std::vector<Range> taken;
  for (uint32_t i : order) {
    const Block& b = blocks[i];
    const int64_t need = aligned(b.bytes);
    taken.clear();
    for (uint32_t j : placed)
      if (overlap(b, blocks[j])) taken.push_back({p.offsets[j], p.offsets[j] + aligned(blocks[j].bytes)});
    int64_t end = 0, best = -1, best_gap = 0;
    for (const Range& r : taken) {
      if (r.start - end >= need && (best < 0 || (tightest && r.start - end < best_gap))) {
        best = end;
        best_gap = r.start - end;
        if (!tightest) break;
      }
      end = std::max(end, r.end);
    }
    p.offsets[i] = best >= 0 ? best : end;
    p.bytes = std::max(p.bytes, p.offsets[i] + need);
    if (p.bytes >= give_up) return p;
    auto at = std::upper_bound(placed.begin(), placed.end(), i,
                               [&](uint32_t a, uint32_t c) { return p.offsets[a] < p.offsets[c]; });
    placed.insert(at, i);
  }
  return p;
}

}  // namespace

Placement place_blocks(std::span<const Block> blocks) {
  std::vector<uint32_t> order(blocks.size());
  std::iota(order.begin(), order.end(), 0u);
  const int64_t bound = most_alive(blocks);
  Placement best;
  best.bytes = INT64_MAX;
  auto attempt = [&](std::string_view name, auto less, bool tightest) {
    if (best.bytes == bound) return;
    std::vector<uint32_t> sorted = order;
    std::stable_sort(sorted.begin(), sorted.end(), less);
    Placement p = place_in(blocks, sorted, tightest, best.bytes);
    if (p.bytes < best.bytes) {
      best = std::move(p);
      best.heuristic = name;
    }
  };
  auto size = [&](uint32_t a, uint32_t b) { return blocks[a].bytes > blocks[b].bytes; };
  auto length = [&](uint32_t i) { return blocks[i].last - blocks[i].first; };
  attempt("largest first", size, false);
  attempt("largest first, tightest gap", size, true);
  attempt(
      "by area",
      [&](uint32_t a, uint32_t b) {
        return static_cast<double>(blocks[a].bytes) * (length(a) + 1) >
               static_cast<double>(blocks[b].bytes) * (length(b) + 1);
      },
      false);
  attempt(
      "longest first", [&](uint32_t a, uint32_t b) { return length(a) > length(b); }, false);
  attempt(
      "longest first, tightest gap", [&](uint32_t a, uint32_t b) { return length(a) > length(b); }, true);
  attempt(
      "in order", [&](uint32_t a, uint32_t b) { return blocks[a].first < blocks[b].first; }, true);
  if (blocks.empty()) best.bytes = 0;
  best.lower_bound = bound;
  return best;
}

}  // namespace hw
