// Giving every tensor of the arena an offset.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace hw {

/// A piece of memory that is needed from step `first` to step `last`, both included.
struct Block {
  int64_t bytes = 0;
  int32_t first = 0, last = 0;
};

struct Placement {
  std::vector<int64_t> offsets;  // of each block; multiples of 64
  int64_t bytes = 0;             // of the arena
  int64_t lower_bound = 0;       // the largest sum of blocks alive at once: no placement is smaller
  std::string_view heuristic;    // the one that won
};

/// Tries several orders of first-fit and best-fit, walks on from the best of them, and keeps the smallest arena.
Placement place_blocks(std::span<const Block> blocks);

}  // namespace hw
