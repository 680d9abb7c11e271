// Frozen models that only who has a key can read: AES-256-GCM around the whole file, by OpenSSL's libcrypto, which is opened when needed.
#pragma once

#include <string>
#include <string_view>

#include "core/tensor.h"

namespace hw::infer {

constexpr size_t kKeyBytes = 32;

/// Whether these bytes begin as an encrypted model does.
bool is_encrypted(const void* data, size_t bytes);

/// A file of `plain` under a key of 32 bytes. The key is not in it; equal files differ, for each has its own random nonce. Throws
/// Error{Value} for another length of key, Error{Runtime} where there is no libcrypto.
std::string encrypt(std::string_view plain, std::string_view key);

/// What was encrypted. Throws Error{Value} for another key, and for a file that is not as it was written: nothing of it is given then.
Ref<Storage> decrypt(const void* data, size_t bytes, std::string_view key);

}  // namespace hw::infer
