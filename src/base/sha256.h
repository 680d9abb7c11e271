// SHA-256, where a hash must stand against forgery: FIPS 180-4. Code of our own, because a pruned runtime compares digests of calls
// on machines that have no library for it; libcrypto is opened where a key is given only. Public data alone is hashed, so time
// need not be constant. The tests hold the standard's examples.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace hw {

using Sha256 = std::array<uint8_t, 32>;

Sha256 sha256(const void* data, size_t bytes);
std::string hex(const Sha256& hash);  // 64 digits

}  // namespace hw
