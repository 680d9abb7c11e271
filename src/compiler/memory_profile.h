// How much memory a graph needs at each step, before offsets are chosen.
#pragma once

#include "ir/graph.h"

namespace hw {

/// The life of the memory behind a value, in positions of Graph::order.
struct Life {
  ValueId root = kNone;
  int64_t bytes = 0;
  int32_t made = 0, last = 0;
  std::vector<int32_t> uses;  // positions that read it, in order
  bool held = false;          // it is a result: it lives to the end, in the caller's memory
};

struct MemoryProfile {
  std::vector<Life> lives;       // of everything that kernels make
  std::vector<int32_t> life_of;  // by value: into lives, or kNone for sources and what shows them
  std::vector<int64_t> bytes;    // by position: working memory alive there
  int64_t peak = 0;
  int32_t peak_at = 0;
};

/// Results are not counted: they are memory of the caller. Memory that is reused in place counts once.
MemoryProfile memory_profile(const Graph& graph);

}  // namespace hw
