// Files that are kept: read whole, written beside and renamed into place.
#include "base/kept_files.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "base/text.h"

namespace hw {

namespace fs = std::filesystem;

namespace {

constexpr const char* kUnfinished = ".unfinished";

struct Found {
  fs::path path;
  fs::file_time_type used;
  int64_t bytes;
};

/// The files; what a process left unfinished an hour ago or more is removed on the way.
std::vector<Found> files_in(const std::string& folder, const std::string& ending) {
  std::vector<Found> out;
  if (folder.empty()) return out;
  std::error_code e;
  const auto old = fs::file_time_type::clock::now() - std::chrono::hours(1);
  for (fs::directory_iterator it(folder, e), end; !e && it != end; it.increment(e)) {
    std::error_code gone;
    const fs::path path = it->path();
    const auto used = fs::last_write_time(path, gone);
    const auto bytes = fs::file_size(path, gone);
    if (gone) continue;
    if (path.extension() == ending) out.push_back({path, used, static_cast<int64_t>(bytes)});
    if (path.extension() == kUnfinished && used < old) fs::remove(path, gone);
  }
  return out;
}

void make_room(std::vector<Found> all, int64_t limit) {
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

std::string cache_root() {
  if (const char* set = std::getenv("HEADWATER_CACHE_DIR")) return std::string_view(set) == "off" ? "" : set;
  if (const char* xdg = std::getenv("XDG_CACHE_HOME"); xdg && xdg[0] == '/') return text(xdg, "/headwater");
  if (const char* home = std::getenv("HOME"); home && home[0] == '/') return text(home, "/.cache/headwater");
  return {};
}

KeptFiles::KeptFiles(std::string_view folder, std::string_view ending, int64_t limit)
    : folder_(cache_root()), ending_(ending), limit_(limit) {
  if (!folder_.empty()) folder_ = text(folder_, "/", folder);
}

std::string KeptFiles::path(const Hash128& key) const { return text(folder_, "/", hex(key), ending_); }

bool KeptFiles::read(const Hash128& key, FunctionRef<void*(size_t)> place) const {
  if (folder_.empty()) return false;
  const std::string file = path(key);
  std::FILE* in = std::fopen(file.c_str(), "rb");
  if (!in) return false;
  std::fseek(in, 0, SEEK_END);
  const long bytes = std::ftell(in);
  std::rewind(in);
  const bool fits = bytes > 0 && bytes <= limit_;
  const auto size = static_cast<size_t>(bytes);
  const bool whole = fits && std::fread(place(size), 1, size, in) == size;
  std::fclose(in);
  std::error_code e;
  fs::last_write_time(file, fs::file_time_type::clock::now(), e);
  return whole;
}

bool KeptFiles::write(const Hash128& key, std::string_view bytes) const {
  static std::atomic<int> count{0};
  if (folder_.empty() || static_cast<int64_t>(bytes.size()) > limit_) return false;
  std::error_code e;
  fs::create_directories(folder_, e);
  const std::string file = path(key), beside = text(file, ".", int64_t{getpid()}, ".", count++, kUnfinished);
  std::FILE* out = std::fopen(beside.c_str(), "wb");
  if (!out) return false;
  bool whole = std::fwrite(bytes.data(), 1, bytes.size(), out) == bytes.size();
  whole = std::fclose(out) == 0 && whole;
  if (whole) fs::rename(beside, file, e);
  if (!whole || e) {
    fs::remove(beside, e);
    return false;
  }
  make_room(files_in(folder_, ending_), limit_);
  return true;
}

KeptUse KeptFiles::use() const {
  KeptUse use;
  for (const Found& f : files_in(folder_, ending_)) {
    ++use.entries;
    use.bytes += f.bytes;
  }
  return use;
}

void KeptFiles::clear() const {
  std::error_code e;
  for (const Found& f : files_in(folder_, ending_)) fs::remove(f.path, e);
}

}  // namespace hw
