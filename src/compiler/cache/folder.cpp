// Files of the cache: read whole, written beside and renamed into place.
#include "compiler/cache/folder.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "base/flags.h"
#include "base/text.h"
#include "core/tensor.h"

namespace hw {

namespace fs = std::filesystem;

namespace {

constexpr const char* kEnding = ".hwprog";
constexpr const char* kUnfinished = ".unfinished";

std::string path_of(const std::string& folder, const Hash128& key) { return text(folder, "/", hex(key), kEnding); }

struct Found {
  fs::path path;
  fs::file_time_type used;
  int64_t bytes;
};

/// The entries; what a process left unfinished an hour ago or more is removed on the way.
std::vector<Found> entries(const std::string& folder) {
  std::vector<Found> out;
  std::error_code e;
  const auto old = fs::file_time_type::clock::now() - std::chrono::hours(1);
  for (fs::directory_iterator it(folder, e), end; !e && it != end; it.increment(e)) {
    std::error_code gone;
    const fs::path path = it->path();
    const auto used = fs::last_write_time(path, gone);
    const auto bytes = fs::file_size(path, gone);
    if (gone) continue;
    if (path.extension() == kEnding) out.push_back({path, used, static_cast<int64_t>(bytes)});
    if (path.extension() == kUnfinished && used < old) fs::remove(path, gone);
  }
  return out;
}

void make_room(const std::string& folder, int64_t limit) {
  std::vector<Found> all = entries(folder);
  int64_t bytes = 0;
  for (const Found& f : all) bytes += f.bytes;
  if (bytes <= limit) return;
  std::sort(all.begin(), all.end(), [](const Found& a, const Found& b) { return a.used < b.used; });
  for (const Found& f : all) {
    if (bytes <= limit) break;
    std::error_code e;
    fs::remove(f.path, e);
    bytes -= f.bytes;
  }
}

}  // namespace

std::string cache_folder() {
  std::string root;
  if (const char* set = std::getenv("HEADWATER_CACHE_DIR")) {
    root = set;
    if (root.empty() || root == "off") return {};
  } else if (const char* xdg = std::getenv("XDG_CACHE_HOME"); xdg && xdg[0] == '/') {
    root = text(xdg, "/headwater");
  } else if (const char* home = std::getenv("HOME"); home && home[0] == '/') {
    root = text(home, "/.cache/headwater");
  } else {
    return {};
  }
  return root + "/programs";
}

int64_t cache_limit() { return flag_int("HEADWATER_CACHE_SIZE", int64_t{1} << 30); }

Ref<Storage> cached_entry(const Hash128& key) {
  const std::string folder = cache_folder();
  if (folder.empty()) return {};
  const std::string path = path_of(folder, key);
  std::FILE* in = std::fopen(path.c_str(), "rb");
  if (!in) return {};
  std::fseek(in, 0, SEEK_END);
  const long bytes = std::ftell(in);
  std::rewind(in);
  Ref<Storage> file;
  if (bytes > 0 && bytes <= cache_limit()) {
    file = make_ref<Storage>(static_cast<size_t>(bytes));
    if (std::fread(file->data(), 1, file->bytes(), in) != file->bytes()) file = {};
  }
  std::fclose(in);
  std::error_code e;
  fs::last_write_time(path, fs::file_time_type::clock::now(), e);
  return file;
}

void keep_entry(const Hash128& key, const std::string& bytes) {
  static std::atomic<int> count{0};
  const std::string folder = cache_folder();
  const int64_t limit = cache_limit();
  if (folder.empty() || static_cast<int64_t>(bytes.size()) > limit) return;
  std::error_code e;
  fs::create_directories(folder, e);
  const std::string path = path_of(folder, key), beside = text(path, ".", int64_t{getpid()}, ".", count++, kUnfinished);
  std::FILE* out = std::fopen(beside.c_str(), "wb");
  if (!out) return;
  const bool whole = std::fwrite(bytes.data(), 1, bytes.size(), out) == bytes.size();
  if (std::fclose(out) == 0 && whole) fs::rename(beside, path, e);
  if (!whole || e) {
    fs::remove(beside, e);
    return;
  }
  ++cache_counters().written;
  make_room(folder, limit);
}

CacheUse cache_use() {
  CacheUse use;
  if (const std::string folder = cache_folder(); !folder.empty())
    for (const Found& f : entries(folder)) {
      ++use.entries;
      use.bytes += f.bytes;
    }
  return use;
}

void clear_cache() {
  const std::string folder = cache_folder();
  std::error_code e;
  if (!folder.empty())
    for (const Found& f : entries(folder)) fs::remove(f.path, e);
}

CacheCounters& cache_counters() {
  static CacheCounters counters;
  return counters;
}

}  // namespace hw
