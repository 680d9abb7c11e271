// The header of a .hwm file.
#pragma once

#include <cstdint>

#include "base/hash.h"

namespace hw {

struct FrozenHeader {
  char magic[8];
  uint32_t version;
  uint32_t reserved;
  uint64_t structure_bytes;  // behind the header
  uint64_t data_bytes;       // behind the structure and what fills it up to 64
  Hash128 hash;              // of the structure
  Hash128 data_hash;         // of the data; plans, which are in it, have their own hash too
  uint64_t unused[8];
};
static_assert(sizeof(FrozenHeader) == 128);

inline constexpr char kFrozenMagic[8] = {'H', 'W', 'M', 'O', 'D', 'L', '\r', '\n'};

}  // namespace hw
