// Which values lie in the same memory: views, and what they are views of.
#pragma once

#include "ir/graph.h"

namespace hw {

/// Where a value lies: `offset` elements behind the first of `root`, which is a source or made by a kernel.
struct Location {
  ValueId root = kNone;
  int64_t offset = 0;
  bool known = true;  // whether the offset is: not behind a view of another dtype
};

class Roots {
 public:
  explicit Roots(const Graph& graph);
  ValueId root(ValueId v) const { return at_[static_cast<size_t>(v)].root; }
  const Location& location(ValueId v) const { return at_[static_cast<size_t>(v)]; }
  bool is_result(ValueId v) const {
    return result_[static_cast<size_t>(root(v))];
  }  // the value or a view in its memory
  /// Two outputs of one call lie in this memory, and stay in one memory.
  bool is_shared(ValueId v) const { return shared_[static_cast<size_t>(root(v))]; }
  /// Whether `kept` may stand for `gone` although they are different memories: the outputs of the call that share memory
  /// still do, no source's old content has to outlive its update for an output, and an output with memory of its own does
  /// not become a part of larger memory, which would live as long as it, and which a frozen model cannot hand in.
  bool may_replace(const Graph& graph, ValueId gone, ValueId kept) const;

  // -------- keeping up with a pass that walks the nodes in order
  /// Looks again at a node whose inputs have changed, or at a new one.
  void place(const Graph& graph, const Node& node);
  /// All that read `gone` reads `kept` now.
  void replaced(ValueId gone, ValueId kept);

 private:
  std::vector<Location> at_;
  std::vector<bool> result_, shared_;
};

}  // namespace hw
