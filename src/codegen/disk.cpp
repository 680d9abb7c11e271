// One file for each kernel: the whole key, the object and a hash, so that neither damage nor a chance hash is taken for a kernel.
#include "codegen/disk.h"

#include <cstring>

#include "base/kept_files.h"

namespace hw {

namespace {

constexpr char kMagic[8] = {'H', 'W', 'K', 'E', 'R', 'N', '0', '2'};
constexpr int64_t kMostBytes = int64_t{256} << 20;  // kernels take 2 to 20 KiB each

struct Head {
  char magic[8];
  uint64_t key_bytes, object_bytes;
  Hash128 hash;  // of both
};

KeptFiles kernels() { return KeptFiles("kernels", ".hwk", kMostBytes); }

Hash128 hash_of(std::string_view s) { return hash128(s.data(), s.size()); }

}  // namespace

std::optional<std::string> read_kept(const std::string& key) {
  std::string all;
  const bool found = kernels().read(hash_of(key), [&](size_t bytes) -> void* {
    all.resize(bytes);
    return all.data();
  });
  Head head;
  if (!found || all.size() < sizeof head) return std::nullopt;
  std::memcpy(&head, all.data(), sizeof head);
  const std::string_view rest = std::string_view(all).substr(sizeof head);
  if (std::memcmp(head.magic, kMagic, sizeof kMagic) != 0 || head.key_bytes != key.size() || rest.size() < key.size() ||
      head.object_bytes != rest.size() - key.size() || rest.substr(0, key.size()) != key || head.hash != hash_of(rest))
    return std::nullopt;
  return std::string(rest.substr(key.size()));
}

void keep(const std::string& key, const std::string& object) {
  const std::string rest = key + object;
  Head head{{}, key.size(), object.size(), hash_of(rest)};
  std::memcpy(head.magic, kMagic, sizeof kMagic);
  kernels().write(hash_of(key), std::string(reinterpret_cast<const char*>(&head), sizeof head) + rest);
}

}  // namespace hw
