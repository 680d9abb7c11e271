// XXH3 of 128 bits.
#include "base/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace hw {

struct Hasher::State {
  XXH3_state_t xxh;
};

Hasher::Hasher() : state_(std::make_unique<State>()) { XXH3_128bits_reset(&state_->xxh); }
Hasher::~Hasher() = default;

void Hasher::add(const void* data, size_t bytes) {
  if (bytes) XXH3_128bits_update(&state_->xxh, data, bytes);
}

void Hasher::add_text(std::string_view s) {
  add_value(static_cast<uint64_t>(s.size()));
  add(s.data(), s.size());
}

Hash128 Hasher::result() const {
  const XXH128_hash_t h = XXH3_128bits_digest(&state_->xxh);
  return {h.low64, h.high64};
}

Hash128 hash128(const void* data, size_t bytes) {
  const XXH128_hash_t h = XXH3_128bits(data, bytes);
  return {h.low64, h.high64};
}

std::string hex(const Hash128& hash) {
  std::string out;
  for (uint64_t word : {hash.high, hash.low})
    for (int shift = 60; shift >= 0; shift -= 4) out.push_back("0123456789abcdef"[word >> shift & 15]);
  return out;
}

}  // namespace hw
