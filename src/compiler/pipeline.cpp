// The order of passes, kept by hand, and their runner.
#include "compiler/pipeline.h"

#include <chrono>

#include "base/error.h"
#include "base/flags.h"
#include "compiler/check_graph.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "op/vocabulary.h"

namespace hw {

/// The table of contents of the compiler. The stages are in the order of Stage.
static constexpr std::string_view kOrder[] = {
    // simplify
    "remove_dead", "fold_batch_norm", "fold_constants", "simplify_algebra", "merge_equal", "remove_dead",
    // precision
    "lower_int8",
    // decompose
    // layout
    "block_convolutions",
    // fuse
    "fuse_attention", "merge_products", "fuse_linear", "fuse_convolutions", "fuse_int8_convolutions", "run_once",
    "step_embeddings", "form_regions",
    // remat: what lets memory go early, then what makes it fit a budget
    "hoist_updates", "recompute_cheap", "recompute",
    // schedule
    // memory: see memory/
};

std::vector<Pass> pipeline() {
  std::vector<Pass> list;
  for (std::string_view name : kOrder) list.push_back(get_pass(name));
  return list;
}

std::string pipeline_text() {
  std::string out;
  std::string_view stage;
  for (const Pass& p : pipeline()) {
    if (stage_name(p.stage) != stage) append_text(out, text(stage = stage_name(p.stage), "\n"));
    append_text(out, text("  ", p.name, std::string(p.name.size() < 20 ? 20 - p.name.size() : 1, ' '), p.doc, "\n"));
  }
  return out;
}

namespace {

std::vector<std::string_view> names_in(std::string_view list) {
  std::vector<std::string_view> out;
  while (!list.empty()) {
    size_t end = std::min(list.find(','), list.size());
    std::string_view name = list.substr(0, end);
    list.remove_prefix(std::min(end + 1, list.size()));
    while (name.starts_with(' ')) name.remove_prefix(1);
    while (name.ends_with(' ')) name.remove_suffix(1);
    if (!name.empty()) out.push_back(name);
  }
  return out;
}

bool contains(const std::vector<std::string_view>& names, std::string_view name) {
  for (std::string_view n : names)
    if (n == name) return true;
  return false;
}

void verify(const Graph& graph, std::string_view after) {
  verify_graph(graph, after);
  if (std::string problem = specs_problem(graph); !problem.empty())
    bug("graph ", graph.name, " after ", after, ": ", problem);
}

PipelineResult run(Graph& graph, const std::vector<Pass>& passes, const PipelineOptions& options) {
  using Clock = std::chrono::steady_clock;
  const std::string env = flag_text("HEADWATER_PASSES_OFF", "");
  std::vector<std::string_view> off = names_in(options.off), dump = names_in(options.dump);
  for (std::string_view name : names_in(env)) off.push_back(name);
  for (std::string_view name : off) get_pass(name);
  const bool dump_all = contains(dump, "all"), check_each = verifies(options);
  if (check_each) verify(graph, "what was there before the first pass");
  PipelineResult result;
  for (const Pass& p : passes) {
    const int64_t before = static_cast<int64_t>(graph.order.size());
    PassRecord record{p.name, p.stage, contains(off, p.name), false, before, before, 0, {}, {}};
    if (!record.off) {
      const bool keep = dump_all || contains(dump, p.name);
      if (keep) record.before = print_graph(graph, op_vocabulary());
      auto start = Clock::now();
      record.changed = p.run(graph, options.pass);
      record.nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count();
      record.nodes_after = static_cast<int64_t>(graph.order.size());
      if (keep) record.after = print_graph(graph, op_vocabulary());
      if (check_each) verify(graph, text("pass ", p.name));
    }
    result.records.push_back(std::move(record));
  }
  return result;
}

}  // namespace

bool verifies(const PipelineOptions& options) {
#ifdef NDEBUG
  return options.verify || flag_int("HEADWATER_VERIFY", 0) != 0;
#else
  return options.verify || flag_int("HEADWATER_VERIFY", 1) != 0;
#endif
}

PipelineResult run_pipeline(Graph& graph, const PipelineOptions& options) { return run(graph, pipeline(), options); }

PipelineResult run_passes(Graph& graph, std::span<const std::string> names, const PipelineOptions& options) {
  std::vector<Pass> list;
  for (const std::string& name : names) list.push_back(get_pass(name));
  return run(graph, list, options);
}

std::vector<Pass> passes_on() {
  const std::string env = flag_text("HEADWATER_PASSES_OFF", "");
  std::vector<Pass> list = pipeline();
  std::erase_if(list, [&](const Pass& p) { return contains(names_in(env), p.name); });
  return list;
}

std::string records_text(const PipelineResult& result) {
  std::string out;
  for (const PassRecord& r : result.records) {
    append_text(out, text(r.name, std::string(r.name.size() < 20 ? 20 - r.name.size() : 1, ' ')));
    if (r.off)
      append_text(out, "off\n");
    else
      append_text(out, text(r.nodes_before, " -> ", r.nodes_after, " nodes, ", r.nanoseconds / 1000, " us",
                            r.changed ? "" : ", no change", "\n"));
  }
  return out;
}

}  // namespace hw
