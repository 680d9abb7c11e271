// From a plan to its marked graph, and cycles that hold no token.
#include "plan/stream/marked_graph.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace hw {

static void add_order(const StreamPlan& plan, MarkedGraph& graph) {
  std::vector<std::vector<int32_t>> members(plan.streams.size());
  for (size_t a = 0; a < plan.actors.size(); ++a)
    members[static_cast<size_t>(plan.actors[a].stream)].push_back(static_cast<int32_t>(a));
  for (size_t s = 0; s < members.size(); ++s) {
    if (!plan.streams[s].ordered || members[s].size() < 2) continue;
    const std::vector<int32_t>& m = members[s];
    for (size_t i = 0; i < m.size(); ++i) {
      const bool last = i + 1 == m.size();
      graph.edges.push_back({m[i], m[last ? 0 : i + 1], last ? 1 : 0, MarkedEdge::Why::Order, static_cast<int32_t>(s)});
    }
  }
}

MarkedGraph marked_graph(const StreamPlan& plan) {
  MarkedGraph graph;
  for (size_t a = 0; a < plan.actors.size(); ++a) {
    graph.nanoseconds.push_back(std::llround(plan.actors[a].seconds * 1e9));
    graph.edges.push_back({static_cast<int32_t>(a), static_cast<int32_t>(a), 1, MarkedEdge::Why::Self, -1});
  }
  for (size_t r = 0; r < plan.registers.size(); ++r) {
    const StreamRegister& reg = plan.registers[r];
    const auto index = static_cast<int32_t>(r);
    for (int32_t consumer : reg.consumers) {
      graph.edges.push_back({reg.producer, consumer, reg.initial, MarkedEdge::Why::Data, index});
      graph.edges.push_back({consumer, reg.producer, reg.count - reg.initial, MarkedEdge::Why::Credit, index});
    }
  }
  add_order(plan, graph);
  return graph;
}

std::vector<MarkedEdge> dead_cycle(const MarkedGraph& graph) {
  const size_t n = graph.nanoseconds.size();
  std::vector<std::vector<const MarkedEdge*>> out(n);
  for (const MarkedEdge& e : graph.edges)
    if (e.tokens == 0) out[static_cast<size_t>(e.from)].push_back(&e);
  enum : uint8_t { kNew, kOnPath, kDone };
  std::vector<uint8_t> state(n, kNew);
  std::vector<size_t> next(n, 0);
  std::vector<const MarkedEdge*> path;  // path[i] ends where path[i + 1] begins
  for (size_t start = 0; start < n; ++start) {
    if (state[start] != kNew) continue;
    size_t at = start;
    state[at] = kOnPath;
    for (;;) {
      if (next[at] < out[at].size()) {
        const MarkedEdge* e = out[at][next[at]++];
        const auto to = static_cast<size_t>(e->to);
        if (state[to] == kDone) continue;
        path.push_back(e);
        if (state[to] == kOnPath) {
          auto first = std::find_if(path.begin(), path.end(), [&](const MarkedEdge* p) { return p->from == e->to; });
          std::vector<MarkedEdge> cycle;
          for (; first != path.end(); ++first) cycle.push_back(**first);
          return cycle;
        }
        state[to] = kOnPath;
        at = to;
        continue;
      }
      state[at] = kDone;
      if (path.empty()) break;
      at = static_cast<size_t>(path.back()->from);
      path.pop_back();
    }
  }
  return {};
}

std::string cycle_text(const StreamPlan& plan, const std::vector<MarkedEdge>& cycle) {
  if (cycle.empty()) return {};
  const auto name = [&](int32_t actor) { return text("'", plan.actors[static_cast<size_t>(actor)].name, "'"); };
  std::string out = name(cycle[0].from);
  for (const MarkedEdge& e : cycle) {
    const auto i = static_cast<size_t>(e.index);
    switch (e.why) {
      case MarkedEdge::Why::Data: out += text(" -> (register '", plan.registers[i].name, "')"); break;
      case MarkedEdge::Why::Credit: out += text(" -> (free copy of '", plan.registers[i].name, "')"); break;
      case MarkedEdge::Why::Order: out += text(" -> (order of stream '", plan.streams[i].name, "')"); break;
      case MarkedEdge::Why::Self: out += " -> (its next firing)"; break;
    }
    out += text(" -> ", name(e.to));
  }
  return out;
}

}  // namespace hw
