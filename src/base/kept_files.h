// A folder of files below the cache folder, each found by a hash. Several processes may use it at once: a file appears whole or not at
// all. Nothing here throws: what cannot be read or written is as if it were not there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/function_ref.h"
#include "base/hash.h"

namespace hw {

/// HEADWATER_CACHE_DIR; by default $XDG_CACHE_HOME/headwater or ~/.cache/headwater. Empty if the variable is set to nothing or
/// "off", or there is no home: then nothing is kept.
std::string cache_root();

struct KeptUse {
  int64_t entries = 0, bytes = 0;
};

class KeptFiles {
 public:
  /// Files `folder`/<hash><ending> below the cache folder, which together take at most `limit` bytes: those that were used longest ago
  /// go first.
  KeptFiles(std::string_view folder, std::string_view ending, int64_t limit);

  const std::string& folder() const { return folder_; }  // empty: nothing is kept
  /// Reads the file into the memory that `place(bytes)` gives; counts as a use of it. False if there is none, or not all was read.
  bool read(const Hash128& key, FunctionRef<void*(size_t)> place) const;
  /// Whether it was kept.
  bool write(const Hash128& key, std::string_view bytes) const;
  KeptUse use() const;
  void clear() const;

 private:
  std::string path(const Hash128& key) const;

  std::string folder_, ending_;
  int64_t limit_;
};

}  // namespace hw
