// The header of a plan file, and what its writer and its reader share.
#pragma once

#include <cstdint>

#include "base/hash.h"
#include "core/spec.h"

namespace hw {

struct PlanFileHeader {
  char magic[8];
  uint32_t version;
  uint32_t reserved;
  uint64_t structure_bytes;  // behind the header
  uint64_t data_bytes;       // behind the structure and what fills it up to 64
  Hash128 hash;              // of all that follows the header
  uint64_t unused[2];
};
static_assert(sizeof(PlanFileHeader) == 64);

inline constexpr char kPlanMagic[8] = {'H', 'W', 'P', 'L', 'A', 'N', '\r', '\n'};

inline uint64_t aligned64(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

/// Bytes from the first element to behind the last; -1 if that is no number of bytes, or a stride is negative.
int64_t extent_of(const TensorSpec& spec);

}  // namespace hw
