// Running passes over a graph: in the order of the table in pipeline.cpp, timed, verified, with any of them switched off.
#pragma once

#include <span>
#include <string>

#include "compiler/pass.h"

namespace hw {

struct PipelineOptions {
  PassOptions pass;
  std::string off;      // names of passes to leave out, separated by commas; those of HEADWATER_PASSES_OFF come on top
  std::string dump;     // names of passes around which the graph's text is kept, or "all"
  bool verify = false;  // check the graph after each pass; on in debug builds and with HEADWATER_VERIFY=1
  bool keep_graph = false;  // for bisecting: the program keeps what was captured
};

/// What became of one pass.
struct PassRecord {
  std::string_view name;
  Stage stage = Stage::Simplify;
  bool off = false, changed = false;
  int64_t nodes_before = 0, nodes_after = 0, nanoseconds = 0;
  std::string before, after;  // graph text, if asked for
};

struct PipelineResult {
  std::vector<PassRecord> records;
};

/// The passes in their order; one may stand in it more than once.
std::vector<Pass> pipeline();
/// "simplify\n  remove_dead       drops nodes whose results nobody uses\n ..."
std::string pipeline_text();

PipelineResult run_pipeline(Graph& graph, const PipelineOptions& options = {});
/// These passes, in the order given. Throws Error{Key} for one that there is not, also among those in `off`.
PipelineResult run_passes(Graph& graph, std::span<const std::string> names, const PipelineOptions& options = {});

/// Those of pipeline() that HEADWATER_PASSES_OFF leaves.
std::vector<Pass> passes_on();

/// Whether graphs and plans are checked on the way.
bool verifies(const PipelineOptions& options);

/// One line for each pass: nodes before and after, microseconds.
std::string records_text(const PipelineResult& result);

}  // namespace hw
