// One file for each kernel: the whole key, the object and a checksum, so that neither damage nor a chance hash is taken for a kernel.
#include "codegen/disk.h"

#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/flags.h"
#include "base/text.h"

namespace hw {

namespace {

constexpr char kMagic[8] = {'H', 'W', 'K', 'E', 'R', 'N', '0', '1'};

/// FNV-1a.
uint64_t hash(std::string_view s, uint64_t h = 14695981039346656037ull) {
  for (char c : s) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  return h;
}

struct Head {
  char magic[8];
  uint64_t key_bytes, object_bytes, checksum;
};

std::string file_of(const std::string& key) {
  const std::string folder = kept_folder();
  if (folder.empty()) return {};
  char name[40];
  std::snprintf(name, sizeof name, "/%016llx.hwk", static_cast<unsigned long long>(hash(key)));
  return folder + name;
}

}  // namespace

std::string kept_folder() {
  const std::string set = flag_text("HEADWATER_CACHE_DIR", "?");
  if (set == "off" || set.empty()) return {};
  if (set != "?") return set + "/kernels";
  const std::string home = flag_text("HOME", "");
  return home.empty() ? home : home + "/.cache/headwater/kernels";
}

std::optional<std::string> read_kept(const std::string& key) {
  const std::string file = file_of(key);
  if (file.empty()) return std::nullopt;
  std::ifstream in(file, std::ios::binary);
  const std::string all{std::istreambuf_iterator<char>(in), {}};
  Head head;
  if (all.size() < sizeof head) return std::nullopt;
  std::memcpy(&head, all.data(), sizeof head);
  const std::string_view rest = std::string_view(all).substr(sizeof head);
  if (std::memcmp(head.magic, kMagic, sizeof kMagic) != 0 || head.key_bytes != key.size() ||
      head.object_bytes != rest.size() - key.size() || rest.size() < key.size() || rest.substr(0, key.size()) != key ||
      head.checksum != hash(rest))
    return std::nullopt;
  return std::string(rest.substr(key.size()));
}

void keep(const std::string& key, const std::string& object) {
  const std::string file = file_of(key);
  if (file.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(kept_folder(), error);
  const std::string rest = key + object, unfinished = text(file, ".", static_cast<int64_t>(getpid()), ".", hash(rest));
  Head head{{}, key.size(), object.size(), hash(rest)};
  std::memcpy(head.magic, kMagic, sizeof kMagic);
  {
    std::ofstream out(unfinished, std::ios::binary);
    out.write(reinterpret_cast<const char*>(&head), sizeof head);
    out.write(rest.data(), static_cast<std::streamsize>(rest.size()));
    out.close();
    if (!out) {
      std::filesystem::remove(unfinished, error);
      return;
    }
  }
  std::filesystem::rename(unfinished, file, error);
  if (error) std::filesystem::remove(unfinished, error);
}

}  // namespace hw
