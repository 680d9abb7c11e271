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

constexpr double kClose = 1.005;       // of the bound: good enough
constexpr int64_t kSteps = 4'000'000;  // pairs of blocks that `improve` may look at: some 10 ms

/// Walks on from an order: the block that ends at the top of the arena goes first next time; where that leads to an arena of a size seen
/// before, a block that lives beside it goes first too, drawn by a fixed sequence. The best arena on the way wins.
void improve(std::span<const Block> blocks, std::vector<uint32_t> order, Placement& best) {
  const int64_t n = static_cast<int64_t>(blocks.size());
  const double enough = static_cast<double>(best.lower_bound) * kClose;
  std::vector<int64_t> seen;
  uint32_t dice = 12345;
  auto to_front = [&](uint32_t block) {
    const auto at = std::find(order.begin(), order.end(), block);
    std::rotate(order.begin(), at, at + 1);
  };
  auto neighbour = [&](uint32_t block) {
    std::vector<uint32_t> beside;
    for (uint32_t i = 0; i < blocks.size(); ++i)
      if (overlap(blocks[i], blocks[block])) beside.push_back(i);
    return beside[(dice = dice * 1664525u + 1013904223u) / 65536 % beside.size()];
  };
  for (int64_t left = std::clamp<int64_t>(kSteps / (n * n + 1), 6, 500); left > 0; --left) {
    if (static_cast<double>(best.bytes) <= enough) return;
    Placement p = place_in(blocks, order, false, INT64_MAX);
    auto ends_there = [&](uint32_t i) { return p.offsets[i] + aligned(blocks[i].bytes) == p.bytes; };
    const uint32_t top = *std::find_if(order.begin(), order.end(), ends_there);
    if (std::find(seen.begin(), seen.end(), p.bytes) != seen.end()) to_front(neighbour(top));
    to_front(top);
    seen.push_back(p.bytes);
    if (p.bytes >= best.bytes) continue;
    best.offsets = std::move(p.offsets);
    best.bytes = p.bytes;
    best.heuristic = "top first";
  }
}

}  // namespace

Placement place_blocks(std::span<const Block> blocks) {
  std::vector<uint32_t> order(blocks.size());
  std::iota(order.begin(), order.end(), 0u);
  const int64_t bound = most_alive(blocks);
  Placement best;
  best.bytes = INT64_MAX;
  std::vector<uint32_t> winner;
  auto attempt = [&](std::string_view name, auto less, bool tightest) {
    if (best.bytes == bound) return;
    std::vector<uint32_t> sorted = order;
    std::stable_sort(sorted.begin(), sorted.end(), less);
    Placement p = place_in(blocks, sorted, tightest, best.bytes);
    if (p.bytes < best.bytes) {
      best = std::move(p);
      best.heuristic = name;
      winner = std::move(sorted);
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
  if (!blocks.empty()) improve(blocks, std::move(winner), best);
  return best;
}

}  // namespace hw
