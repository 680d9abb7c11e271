// Giving up values that wait for a late use, and computing them again there: what passes recompute and recompute_cheap share.
#pragma once

#include <vector>

#include "compiler/memory_profile.h"

namespace hw {

class Recomputing {
 public:
  struct Choice {
    int32_t life = kNone;
    int32_t from = 0;           // the first use behind the peak, which will read the value computed again
    int32_t idle = 0;           // steps since the use before it
    int64_t bytes = 0;          // that are free in between
    double cost = 0;            // of the chain
    double densest = 0;         // the most operations of a node of the chain, for each element of its largest operand
    std::vector<NodeId> chain;  // what runs again, in order
    double price() const { return cost / static_cast<double>(bytes); }
  };

  explicit Recomputing(Graph& graph) : g_(graph) { look(); }

  int64_t peak() const { return profile_.peak; }
  double total_cost() const;  // of what has a known cost
  /// What can be given up at the peak, as the graph is now.
  std::vector<Choice> choices() const;
  /// Of several choices, those of later uses come first: positions before the one that is applied stay what they were.
  void apply(const Choice& c);
  void look();  // after apply(): lives and peak of the graph as it became

 private:
  bool find_chain(Choice& c) const;
  bool source_is_old(ValueId v, int32_t at) const;
  bool alive_at(int32_t life, int32_t at) const {
    const Life& l = profile_.lives[static_cast<size_t>(life)];
    return l.made <= at && (l.held || l.last >= at);
  }

  Graph& g_;
  MemoryProfile profile_;
  std::vector<int32_t> position_;  // by node
};

}  // namespace hw
