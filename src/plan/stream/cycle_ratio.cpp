// The largest cycle ratio of a marked graph by Howard's policy iteration, in whole numbers.
#include <algorithm>

#include "base/error.h"
#include "plan/stream/marked_graph.h"

namespace hw {

namespace {

__extension__ using Wide = __int128;  // a sum of nanoseconds times tokens along a path

/// Of one strongly connected component. A policy is one way out of each node; following it from anywhere ends in a cycle. Each round
/// takes the policy's best cycle, makes every node lead to it, and works out how much more than the cycle's ratio the way there
/// brings (`value`); a node with a better way out takes it. A round raises the ratio, or, at the same ratio, only values; there are
/// finitely many policies, so it ends, and then no cycle is better: along any cycle the values would have to grow.
class Howard {
 public:
  static bool less(const CycleRatio& a, const CycleRatio& b) {
    return static_cast<Wide>(a.nanoseconds) * b.tokens < static_cast<Wide>(b.nanoseconds) * a.tokens;
  }

  Howard(const MarkedGraph& graph, const std::vector<int32_t>& component)
      : graph_(graph), out_(component.size()), in_(component.size()), policy_(component.size(), nullptr) {
    value_.assign(component.size(), 0);
    mark_.assign(component.size(), -1);
    for (const MarkedEdge& e : graph.edges) {
      if (component[static_cast<size_t>(e.from)] != component[static_cast<size_t>(e.to)]) continue;
      out_[static_cast<size_t>(e.from)].push_back(&e);
      in_[static_cast<size_t>(e.to)].push_back(&e);
    }
  }

  /// Of these nodes, a component. Without a cycle if it has none.
  CycleRatio run(std::vector<int32_t> nodes) {
    nodes_ = std::move(nodes);
    if (out_[static_cast<size_t>(nodes_[0])].empty()) return {};
    for (int32_t n : nodes_) {
      const auto& out = out_[static_cast<size_t>(n)];
      policy_[static_cast<size_t>(n)] =
          *std::min_element(out.begin(), out.end(), [](const auto* a, const auto* b) { return a->tokens < b->tokens; });
    }
    do {
      best_cycle();
      lead_all_to_it();
    } while (improve());
    return std::move(best_);
  }

 private:
  void clear_marks() {
    for (int32_t n : nodes_) mark_[static_cast<size_t>(n)] = -1;
  }

  void best_cycle() {
    best_ = {{}, -1, 1};
    clear_marks();
    for (int32_t start : nodes_) {
      int32_t at = start;
      while (mark_[static_cast<size_t>(at)] < 0) {
        mark_[static_cast<size_t>(at)] = start;
        at = policy_[static_cast<size_t>(at)]->to;
      }
      if (mark_[static_cast<size_t>(at)] != start) continue;
      CycleRatio found{{}, 0, 0};
      const int32_t first = at;
      do {
        const MarkedEdge* e = policy_[static_cast<size_t>(at)];
        found.cycle.push_back(*e);
        found.nanoseconds += graph_.nanoseconds[static_cast<size_t>(at)];
        found.tokens += e->tokens;
        at = e->to;
      } while (at != first);
      if (less(best_, found)) best_ = std::move(found);
    }
  }

  Wide gain(const MarkedEdge& e) const {
    return static_cast<Wide>(graph_.nanoseconds[static_cast<size_t>(e.from)]) * best_.tokens -
           static_cast<Wide>(best_.nanoseconds) * e.tokens;
  }

  /// Values along the policy, backwards from the cycle; whoever leads elsewhere is sent to it by any way there is.
  void lead_all_to_it() {
    clear_marks();
    std::vector<int32_t> queue{best_.cycle[0].from};
    mark_[static_cast<size_t>(queue[0])] = 0;
    value_[static_cast<size_t>(queue[0])] = 0;
    const auto take = [&](const MarkedEdge* e) {
      const auto from = static_cast<size_t>(e->from);
      if (mark_[from] == 0) return;
      mark_[from] = 0;
      policy_[from] = e;
      value_[from] = value_[static_cast<size_t>(e->to)] + gain(*e);
      queue.push_back(e->from);
    };
    for (size_t i = 0; i < queue.size(); ++i)
      for (const MarkedEdge* e : in_[static_cast<size_t>(queue[i])])
        if (policy_[static_cast<size_t>(e->from)] == e) take(e);
    for (size_t i = 0; i < queue.size(); ++i)
      for (const MarkedEdge* e : in_[static_cast<size_t>(queue[i])]) take(e);
  }

  bool improve() {
    bool better = false;
    for (int32_t n : nodes_) {
      const auto from = static_cast<size_t>(n);
      Wide most = value_[from];
      for (const MarkedEdge* e : out_[from]) {
        const Wide v = value_[static_cast<size_t>(e->to)] + gain(*e);
        if (v <= most) continue;
        most = v;
        policy_[from] = e;
        better = true;
      }
    }
    return better;
  }

  const MarkedGraph& graph_;
  std::vector<int32_t> nodes_, mark_;
  std::vector<std::vector<const MarkedEdge*>> out_, in_;
  std::vector<const MarkedEdge*> policy_;
  std::vector<Wide> value_;
  CycleRatio best_;
};

/// Strongly connected components by Tarjan's algorithm, without recursion: the number of each node's.
class Components {
 public:
  explicit Components(const MarkedGraph& graph) : out_(graph.nanoseconds.size()) {
    for (const MarkedEdge& e : graph.edges) out_[static_cast<size_t>(e.from)].push_back(e.to);
    const size_t n = out_.size();
    component.assign(n, -1);
    index_.assign(n, -1);
    low_.assign(n, 0);
    next_.assign(n, 0);
    for (size_t i = 0; i < n; ++i)
      if (index_[i] < 0) visit(static_cast<int32_t>(i));
  }
  std::vector<int32_t> component;
  int32_t count = 0;

 private:
  void visit(int32_t root) {
    enter(root);
    while (!path_.empty()) {
      const auto at = static_cast<size_t>(path_.back());
      if (next_[at] < out_[at].size()) {
        const int32_t to = out_[at][next_[at]++];
        if (index_[static_cast<size_t>(to)] < 0)
          enter(to);
        else if (component[static_cast<size_t>(to)] < 0)
          low_[at] = std::min(low_[at], index_[static_cast<size_t>(to)]);
        continue;
      }
      path_.pop_back();
      if (!path_.empty()) {
        const auto up = static_cast<size_t>(path_.back());
        low_[up] = std::min(low_[up], low_[at]);
      }
      if (low_[at] == index_[at]) close(static_cast<int32_t>(at));
    }
  }
  void enter(int32_t node) {
    index_[static_cast<size_t>(node)] = low_[static_cast<size_t>(node)] = clock_++;
    path_.push_back(node);
    open_.push_back(node);
  }
  void close(int32_t node) {
    for (;;) {
      const int32_t top = open_.back();
      open_.pop_back();
      component[static_cast<size_t>(top)] = count;
      if (top == node) break;
    }
    ++count;
  }
  std::vector<std::vector<int32_t>> out_;
  std::vector<int32_t> index_, low_, path_, open_;
  std::vector<size_t> next_;
  int32_t clock_ = 0;
};

}  // namespace

CycleRatio largest_cycle_ratio(const MarkedGraph& graph) {
  const Components parts(graph);
  std::vector<std::vector<int32_t>> members(static_cast<size_t>(parts.count));
  for (size_t i = 0; i < parts.component.size(); ++i)
    members[static_cast<size_t>(parts.component[i])].push_back(static_cast<int32_t>(i));
  Howard howard(graph, parts.component);
  CycleRatio best;
  for (std::vector<int32_t>& nodes : members) {
    CycleRatio found = howard.run(std::move(nodes));
    if (found.cycle.empty()) continue;
    if (found.tokens == 0) bug("a cycle without a token has no rate");
    if (best.cycle.empty() || Howard::less(best, found)) best = std::move(found);
  }
  return best;
}

}  // namespace hw
