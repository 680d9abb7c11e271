// Memory for tensors: 64-byte aligned, cached by size class, counted.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hw {

struct MemoryStats {
  int64_t allocated = 0;       // bytes in live tensors
  int64_t peak_allocated = 0;  // the most of it since the last reset
  int64_t reserved = 0;        // bytes held from the system: live plus cached
  int64_t peak_reserved = 0;
  int64_t allocations = 0;  // calls so far
  int64_t cache_hits = 0;   // of which served from the cache
};

/// Memory for `bytes` (0 gives a unique, unreadable address is not promised: may be null). Throws Error{Memory} that names the
/// request and what is in use when the system refuses or when `bytes` exceeds the machine's memory.
void* allocate(size_t bytes);
void deallocate(void* p, size_t bytes) noexcept;  // `bytes` as it was asked for

MemoryStats memory_stats();
void reset_peak_memory_stats();
void empty_cache() noexcept;  // gives all cached blocks back to the system

}  // namespace hw
