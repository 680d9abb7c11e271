// recompute_cheap: what waits long for a late use and costs next to nothing (an activation, a normalisation) is computed again there,
// without a budget: the peak falls, and a step takes at most 2 % more work.
#include <algorithm>

#include "compiler/pass.h"
#include "compiler/recomputing.h"

namespace hw {

// In units of Recomputing's cost: a byte moved is 4, a floating-point operation 1.
static constexpr double kCheap = 24;    // per byte saved: two elementwise operators in a row, not a product
static constexpr double kDensest = 32;  // operations an element: a product of 16 terms, as a convolution of one channel
static constexpr double kMostOfTotal = 0.02;  // of the whole graph's cost
static constexpr int32_t kLong = 32;          // steps: nearer values are residual inputs, alive for good reasons
static constexpr int64_t kWorthwhile = int64_t{8} << 20, kLeastPeak = int64_t{64} << 20;

static bool recompute_cheap(Graph& graph, const PassOptions&) {
  constexpr int kMostRounds = 4;
  bool changed = false;
  Recomputing again(graph);
  double left = kMostOfTotal * again.total_cost();
  for (int round = 0; round < kMostRounds && again.peak() >= kLeastPeak; ++round) {
    std::vector<Recomputing::Choice> choices = again.choices(), taken;
    std::sort(choices.begin(), choices.end(), [](const auto& a, const auto& b) {
      return a.price() != b.price() ? a.price() < b.price() : a.from < b.from;
    });
    int64_t saved = 0;
    for (Recomputing::Choice& c : choices) {
      if (c.price() > kCheap || c.densest > kDensest || c.idle < kLong || c.cost > left) continue;
      left -= c.cost;
      saved += c.bytes;
      taken.push_back(std::move(c));
    }
    if (saved < kWorthwhile) break;
    std::sort(taken.begin(), taken.end(), [](const auto& a, const auto& b) { return a.from > b.from; });
    for (const Recomputing::Choice& c : taken) again.apply(c);
    changed = true;
    again.look();
  }
  return changed;
}

static const RegisterPass pass({"recompute_cheap", Stage::Remat,
                                "computes activations again at their late use, where that costs next to nothing",
                                &recompute_cheap});

}  // namespace hw
