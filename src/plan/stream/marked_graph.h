// The timed marked graph of a plan: what has to end before what can begin, and how many firings later.
#pragma once

#include "plan/stream/stream_plan.h"

namespace hw {

/// Firing k of `to` begins after firing k - tokens of `from` has ended.
struct MarkedEdge {
  enum class Why : uint8_t {
    Data,    // `to` reads register `index`, which `from` writes
    Credit,  // `to` writes register `index` again when `from` has read it
    Order,   // both are on stream `index`, which is ordered
    Self     // an actor does not fire twice at once
  };
  int32_t from = -1, to = -1;
  int32_t tokens = 0;
  Why why = Why::Data;
  int32_t index = -1;
};

struct MarkedGraph {
  std::vector<int64_t> nanoseconds;  // of one firing, by actor
  std::vector<MarkedEdge> edges;
};

/// Of a plan without a problem.
MarkedGraph marked_graph(const StreamPlan& plan);

/// A cycle without a token: its actors wait for each other for ever. Empty if there is none: then every actor can fire without end
/// (Commoner, Holt, Even, Pnueli 1971, theorem 1).
std::vector<MarkedEdge> dead_cycle(const MarkedGraph& graph);

/// The cycle that bounds the rate, and its ratio: time around it per token on it.
struct CycleRatio {
  std::vector<MarkedEdge> cycle;
  int64_t nanoseconds = 0, tokens = 1;
  double seconds() const { return static_cast<double>(nanoseconds) / 1e9 / static_cast<double>(tokens); }
};
/// The largest ratio of all cycles, exactly; of a graph without a dead cycle. Howard's policy iteration (Cochet-Terrasson, Cohen,
/// Gaubert, McGettrick, Quadrat 1998; Dasdan 2004).
CycleRatio largest_cycle_ratio(const MarkedGraph& graph);

/// "'load' -> (register 'images') -> 'step' -> (credit of 'images') -> 'load'".
std::string cycle_text(const StreamPlan& plan, const std::vector<MarkedEdge>& cycle);

}  // namespace hw
