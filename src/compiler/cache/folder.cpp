// The folder's files, and what this process had of them.
#include "compiler/cache/folder.h"

#include "base/flags.h"
#include "core/tensor.h"

namespace hw {

namespace {

KeptFiles programs() { return KeptFiles("programs", ".hwprog", cache_limit()); }

}  // namespace

std::string cache_folder() { return programs().folder(); }

int64_t cache_limit() { return flag_int("HEADWATER_CACHE_SIZE", int64_t{1} << 30); }

Ref<Storage> cached_entry(const Hash128& key) {
  Ref<Storage> file;
  const bool found = programs().read(key, [&](size_t bytes) {
    file = make_ref<Storage>(bytes);
    return file->data();
  });
  return found ? file : Ref<Storage>{};
}

void keep_entry(const Hash128& key, const std::string& bytes) {
  if (programs().write(key, bytes)) ++cache_counters().written;
}

KeptUse cache_use() { return programs().use(); }

void clear_cache() { programs().clear(); }

CacheCounters& cache_counters() {
  static CacheCounters counters;
  return counters;
}

}  // namespace hw
