// Looking a graph up, or compiling it.
#include "compiler/program/plan_for.h"

#include <algorithm>

#include "base/error.h"
#include "compiler/cache/folder.h"
#include "compiler/cache/key.h"
#include "compiler/lower.h"
#include "compiler/program/once.h"
#include "op/check_plan.h"
#include "plan/file.h"
#include "plan/same_plan.h"

namespace hw {

namespace {

/// Passes drop and merge constants; the other sources stay, in their order. So numbers of them change.
std::vector<int32_t> as_captured(const std::vector<int32_t>& sources, const Graph& now, const Graph& captured) {
  const auto others = [](const Graph& g) {
    std::vector<int32_t> list;
    for (size_t i = 0; i < g.sources.size(); ++i)
      if (g.sources[i].kind != GraphSource::Kind::Constant) list.push_back(static_cast<int32_t>(i));
    return list;
  };
  const std::vector<int32_t> before = others(captured), after = others(now);
  std::vector<int32_t> found;
  for (int32_t s : sources)
    found.push_back(before.at(static_cast<size_t>(std::find(after.begin(), after.end(), s) - after.begin())));
  return found;
}

ProgramPlan compiled(const Graph& captured, const PipelineOptions& options) {
  Graph graph = captured;
  ProgramPlan out;
  out.passes = run_pipeline(graph, options);
  if (std::optional<OnceGraph> once = take_once(graph)) {
    Lowered lowered = lower(once->body);
    out.once = std::move(lowered.plan);
    out.once_kernels = std::move(lowered.kernels);
    out.once_sources = as_captured(once->sources, graph, captured);
  }
  Lowered lowered = lower(graph);
  out.plan = std::move(lowered.plan);
  out.kernels = std::move(lowered.kernels);
  return out;
}

bool same_place(const TensorSpec& a, const TensorSpec& b) {
  return a.dtype == b.dtype && a.shape == b.shape && a.strides == b.strides;
}

/// The results of what runs once are the plan's sources from `first` on.
bool once_fits(const ProgramPlan& program, const Graph& graph, size_t first) {
  const Plan& once = *program.once;
  if (once.num_draws || once.num_host || once.sources.size() != program.once_sources.size()) return false;
  for (size_t i = 0; i < once.sources.size(); ++i) {
    const GraphSource& s = graph.sources[static_cast<size_t>(program.once_sources[i])];
    if (!same_place(once.sources[i].spec, graph.spec(s.value))) return false;
  }
  for (size_t i = 0; i < once.results.size(); ++i)
    if (!same_place(once.tensors[static_cast<size_t>(once.results[i])].spec, program.plan.sources[first + i].spec))
      return false;
  return true;
}

/// Sources that are not those of the graph would be read as if they were.
bool fits(const ProgramPlan& program, const Graph& graph) {
  const auto in_graph = static_cast<int64_t>(graph.sources.size());
  for (int32_t s : program.once_sources)
    if (s < 0 || s >= in_graph || graph.sources[static_cast<size_t>(s)].kind != GraphSource::Kind::State) return false;
  size_t sources = 0, results = 0;
  for (const GraphSource& s : graph.sources) {
    if (s.kind == GraphSource::Kind::Constant) continue;
    if (sources >= program.plan.sources.size()) return false;
    if (!same_place(program.plan.sources[sources++].spec, graph.spec(s.value))) return false;
  }
  for (const GraphResult& r : graph.results) results += r.kind != GraphResult::Kind::Update;
  const Plan& plan = program.plan;
  const size_t kept = program.once ? program.once->results.size() : 0;
  return plan.sources.size() == sources + kept && plan.results.size() == results && plan.num_host == graph.num_host &&
         (!program.once || once_fits(program, graph, sources));
}

void verify_file(const Plan& plan) {
  if (std::string problem = plan_difference(read_plan(write_plan(plan)), plan); !problem.empty())
    bug("plan ", plan.name, " is not the same after writing and reading: ", problem);
  if (std::string problem = calls_problem(plan); !problem.empty()) bug("plan ", plan.name, ": ", problem);
}

}  // namespace

ProgramPlan plan_for(const Graph& graph, const PipelineOptions& options) {
  if (verifies(options)) {
    ProgramPlan made = compiled(graph, options);
    verify_file(made.plan);
    if (made.once) verify_file(*made.once);
    return made;
  }
  if (!options.dump.empty() || cache_folder().empty()) return compiled(graph, options);
  const Hash128 key = program_key(graph, options);
  std::string note;
  if (const Ref<Storage> file = cached_entry(key)) {
    try {
      ProgramPlan found = read_entry(file, key);
      check(fits(found, graph), "it does not fit the graph");
      ++cache_counters().hits;
      return found;
    } catch (const Error& e) {
      note = text("the compiled program ", hex(key), " in ", cache_folder(),
                  " is not used and will be written anew: ", e.message());
      ++cache_counters().refused;
    }
  }
  ++cache_counters().misses;
  ProgramPlan made = compiled(graph, options);
  made.note = std::move(note);
  try {
    keep_entry(key, write_entry(made, key));
  } catch (const Error&) {  // too large for a file
  }
  return made;
}

}  // namespace hw
