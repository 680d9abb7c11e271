// The folder of compiled programs on disk. Several processes may use it at once: an entry appears whole or not at all.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "base/kept_files.h"
#include "base/ref.h"

namespace hw {

class Storage;

/// `programs` below cache_root(). Empty: nothing is kept.
std::string cache_folder();
/// HEADWATER_CACHE_SIZE, in bytes. When more is kept, the entries that were used longest ago go.
int64_t cache_limit();

/// The entry's bytes, or null. Counts as a use of it.
Ref<Storage> cached_entry(const Hash128& key);
/// Keeps an entry if it can; a folder that cannot be written is no error.
void keep_entry(const Hash128& key, const std::string& bytes);

KeptUse cache_use();
void clear_cache();  // removes all entries

/// Of this process.
struct CacheCounters {
  std::atomic<int64_t> hits{0}, misses{0}, refused{0}, written{0};  // refused: damaged or foreign
};
CacheCounters& cache_counters();

}  // namespace hw
