// Step time, utilisation and memory of a plan of actors.
#include "plan/stream/analysis.h"

#include <algorithm>

#include "base/error.h"

namespace hw {

static std::string remedy(const std::vector<MarkedEdge>& cycle) {
  bool order = false;
  for (const MarkedEdge& e : cycle) {
    if (e.why == MarkedEdge::Why::Credit) return "give a register on it more copies";
    order = order || e.why == MarkedEdge::Why::Order;
  }
  if (order) return "let the stream fire its actors in another order, or in any";
  return "let a register on it start with a readable copy (initial=1)";
}

std::string refusal(const StreamPlan& plan) {
  if (std::string problem = stream_plan_problem(plan); !problem.empty()) return problem;
  const std::vector<MarkedEdge> cycle = dead_cycle(marked_graph(plan));
  if (cycle.empty()) return {};
  return text("the actors would wait for each other for ever: ", cycle_text(plan, cycle), "; ", remedy(cycle));
}

static std::vector<int64_t> stream_load(const StreamPlan& plan, const MarkedGraph& graph) {
  std::vector<int64_t> load(plan.streams.size(), 0);
  for (size_t a = 0; a < plan.actors.size(); ++a)
    load[static_cast<size_t>(plan.actors[a].stream)] += graph.nanoseconds[a];
  return load;
}

static std::vector<StreamAnalysis::DeviceMemory> memory_of(const StreamPlan& plan) {
  std::vector<StreamAnalysis::DeviceMemory> memory;
  std::vector<size_t> place(plan.streams.size());
  for (size_t s = 0; s < plan.streams.size(); ++s) {
    const PlanStream& stream = plan.streams[s];
    auto found = std::find_if(memory.begin(), memory.end(),
                              [&](const auto& m) { return m.device == stream.device && m.rank == stream.rank; });
    place[s] = static_cast<size_t>(found - memory.begin());
    if (found == memory.end()) memory.push_back({stream.device, stream.rank, 0, 0});
  }
  const auto at = [&](int32_t actor) -> StreamAnalysis::DeviceMemory& {
    return memory[place[static_cast<size_t>(plan.actors[static_cast<size_t>(actor)].stream)]];
  };
  for (const StreamRegister& r : plan.registers) at(r.producer).registers += r.bytes * r.count;
  for (size_t a = 0; a < plan.actors.size(); ++a) at(static_cast<int32_t>(a)).arenas += plan.actors[a].arena_bytes;
  return memory;
}

StreamAnalysis analyse(const StreamPlan& plan) {
  if (const std::string why = refusal(plan); !why.empty()) fail(ErrorKind::Value, "plan '", plan.name, "': ", why);
  const MarkedGraph graph = marked_graph(plan);
  StreamAnalysis a;
  a.critical = largest_cycle_ratio(graph);
  a.step_seconds = a.critical.cycle.empty() ? 0 : a.critical.seconds();
  const std::vector<int64_t> load = stream_load(plan, graph);
  for (size_t s = 0; s < load.size(); ++s) {
    const double seconds = static_cast<double>(load[s]) / 1e9;
    if (seconds <= a.step_seconds) continue;
    a.step_seconds = seconds;
    a.busiest = static_cast<int32_t>(s);
    a.critical = {};
  }
  for (int64_t l : load)
    a.utilisation.push_back(a.step_seconds > 0 ? static_cast<double>(l) / 1e9 / a.step_seconds : 0);
  a.link_bytes.assign(plan.links.size(), 0);
  for (const StreamActor& actor : plan.actors)
    if (actor.link >= 0) a.link_bytes[static_cast<size_t>(actor.link)] += static_cast<double>(actor.link_bytes);
  a.memory = memory_of(plan);
  return a;
}

namespace {

/// Raises counts along critical cycles, then takes back what was not needed.
class CountChooser {
 public:
  CountChooser(StreamPlan& plan, int64_t budget, int32_t most) : plan_(plan), budget_(budget), most_(most) {
    for (StreamRegister& r : plan_.registers)
      if (!r.fixed) r.count = std::max<int32_t>(1, r.initial);
    for (const StreamAnalysis::DeviceMemory& m : memory_of(plan_))
      check(fits(m), "plan '", plan_.name, "': single copies of all registers need ", m.registers + m.arenas,
            " bytes on ", m.device, " of rank ", m.rank, ", the budget is ", budget_);
    make_live();
  }

  void run() {
    std::vector<size_t> raised;
    StreamAnalysis now = analyse(plan_);
    for (;;) {
      const int32_t r = candidate(now);
      if (r < 0) break;
      ++plan_.registers[static_cast<size_t>(r)].count;
      raised.push_back(static_cast<size_t>(r));
      now = analyse(plan_);
    }
    take_back(std::move(raised), now.step_seconds);
  }

 private:
  bool fits(const StreamAnalysis::DeviceMemory& m) const { return budget_ == 0 || m.registers + m.arenas <= budget_; }
  bool all_fit() const {
    const auto memory = memory_of(plan_);
    return std::all_of(memory.begin(), memory.end(), [&](const auto& m) { return fits(m); });
  }
  bool can_raise(size_t r) {
    if (plan_.registers[r].fixed || plan_.registers[r].count >= most_) return false;
    ++plan_.registers[r].count;
    const bool yes = all_fit();
    --plan_.registers[r].count;
    return yes;
  }

  /// Counts without which the plan would stand still: registers on dead cycles get a free copy.
  void make_live() {
    for (;;) {
      const std::vector<MarkedEdge> cycle = dead_cycle(marked_graph(plan_));
      if (cycle.empty()) return;
      const int32_t r = cheapest(cycle);
      if (r < 0) fail(ErrorKind::Value, "plan '", plan_.name, "': ", refusal(plan_));
      ++plan_.registers[static_cast<size_t>(r)].count;
    }
  }

  int32_t cheapest(const std::vector<MarkedEdge>& cycle) {
    int32_t best = -1;
    for (const MarkedEdge& e : cycle) {
      if (e.why != MarkedEdge::Why::Credit || !can_raise(static_cast<size_t>(e.index))) continue;
      if (best < 0 ||
          plan_.registers[static_cast<size_t>(e.index)].bytes < plan_.registers[static_cast<size_t>(best)].bytes)
        best = e.index;
    }
    return best;
  }
  int32_t candidate(const StreamAnalysis& now) { return cheapest(now.critical.cycle); }

  void take_back(std::vector<size_t> raised, double step) {
    std::stable_sort(raised.begin(), raised.end(),
                     [&](size_t a, size_t b) { return plan_.registers[a].bytes > plan_.registers[b].bytes; });
    for (size_t r : raised) {
      --plan_.registers[r].count;
      if (!dead_cycle(marked_graph(plan_)).empty() || analyse(plan_).step_seconds > step) ++plan_.registers[r].count;
    }
  }

  StreamPlan& plan_;
  int64_t budget_;
  int32_t most_;
};

}  // namespace

void choose_register_counts(StreamPlan& plan, int64_t memory_budget, int32_t most) {
  check(memory_budget >= 0, "the memory budget is ", memory_budget, " bytes; expected 0 (any) or more");
  if (std::string problem = stream_plan_problem(plan); !problem.empty())
    fail(ErrorKind::Value, "plan '", plan.name, "': ", problem);
  CountChooser(plan, memory_budget, most).run();
}

}  // namespace hw
