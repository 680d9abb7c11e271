// What a pass over graphs is. Each stands in its own file of passes/ and registers itself; pipeline.cpp says when it runs.
#pragma once

#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace hw {

/// The stages of the architecture's table, in the order in which they run.
enum class Stage : uint8_t { Simplify, Precision, Distribute, Decompose, Layout, Fuse, Remat, Schedule, Memory };
std::string_view stage_name(Stage stage);

/// The op of the node that pass run_once makes: its inputs are state, its body what is computed of state alone.
inline constexpr std::string_view kOnce = "_once";

/// What is known of how the graph will be used.
struct PassOptions {
  bool frozen = false;                   // inference: state seldom changes between runs, and never in one
  int64_t most_folded_bytes = 16 << 10;  // a larger result is not computed in advance, unless its inputs are as large
  int64_t memory_budget = 0;             // bytes of working memory a run may take; 0: as much as it needs
};

struct Pass {
  std::string_view name;
  Stage stage = Stage::Simplify;
  std::string_view doc;
  bool (*run)(Graph& graph, const PassOptions& options) = nullptr;  // whether it changed anything
};

/// `static const RegisterPass pass({"remove_dead", Stage::Simplify, "...", &remove_dead});` registers at load time.
struct RegisterPass {
  explicit RegisterPass(Pass pass);
};

const std::vector<Pass>& all_passes();        // sorted by name
const Pass& get_pass(std::string_view name);  // throws Error{Key}

}  // namespace hw
