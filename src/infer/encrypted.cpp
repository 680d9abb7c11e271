// The file: 64 bytes (magic, version, size of the plain file, nonce), which are authenticated too, the ciphertext, a tag of 16 bytes.
#include "infer/encrypted.h"

#include <dlfcn.h>
#include <sys/random.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "base/error.h"

namespace hw::infer {

namespace {

constexpr char kMagic[8] = {'H', 'W', 'M', 'C', 'R', 'Y', 'P', 'T'};
constexpr uint32_t kVersion = 1;
constexpr size_t kTagBytes = 16, kNonceBytes = 12;
constexpr uint64_t kMostBytes = (uint64_t{1} << 36) - 32;  // under one nonce (NIST SP 800-38D)
constexpr size_t kPieceBytes = size_t{1} << 30;            // libcrypto counts in int

struct Header {
  char magic[8];
  uint32_t version;
  uint32_t zero;
  uint64_t bytes;
  unsigned char nonce[kNonceBytes];
  unsigned char zeros[28];
};
static_assert(sizeof(Header) == 64);

/// What is used of libcrypto, as OpenSSL 1.1 and 3 declare it.
struct Crypto {
  void* (*context_new)();
  void (*context_free)(void*);
  const void* (*aes_256_gcm)();
  int (*init)(void* context, const void* cipher, void* engine, const unsigned char* key, const unsigned char* nonce,
              int encrypt);
  int (*update)(void* context, unsigned char* out, int* written, const unsigned char* in, int bytes);
  int (*final)(void* context, unsigned char* out, int* written);
  int (*control)(void* context, int type, int bytes, void* data);
};
constexpr int kGetTag = 0x10, kSetTag = 0x11;  // of GCM

template <class F>
void find(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(dlsym(library, name));
  check_runtime(function != nullptr, "libcrypto has no ", name, ": encrypted models need OpenSSL 1.1 or 3");
}

Crypto opened() {
  void* library = nullptr;
  for (const char* name : {"libcrypto.so.3", "libcrypto.so.1.1", "libcrypto.so"})
    if (!library) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  check_runtime(library != nullptr,
                "encrypted models need OpenSSL's libcrypto, which is not installed here (Debian: libssl3)");
  Crypto c{};
  find(library, "EVP_CIPHER_CTX_new", c.context_new);
  find(library, "EVP_CIPHER_CTX_free", c.context_free);
  find(library, "EVP_aes_256_gcm", c.aes_256_gcm);
  find(library, "EVP_CipherInit_ex", c.init);
  find(library, "EVP_CipherUpdate", c.update);
  find(library, "EVP_CipherFinal_ex", c.final);
  find(library, "EVP_CIPHER_CTX_ctrl", c.control);
  return c;
}

const Crypto& crypto() {
  static const Crypto c = opened();  // after a failure the next call tries again
  return c;
}

/// One pass over a file in one direction.
class Cipher {
 public:
  Cipher(const Header& header, std::string_view key, bool encrypts)
      : c_(crypto()), context_(c_.context_new(), c_.context_free) {
    const auto* k = reinterpret_cast<const unsigned char*>(key.data());
    need(context_ && c_.init(context_.get(), c_.aes_256_gcm(), nullptr, k, header.nonce, encrypts) == 1);
    int written = 0;
    const auto* h = reinterpret_cast<const unsigned char*>(&header);
    need(c_.update(context_.get(), nullptr, &written, h, sizeof header) == 1);
  }
  void pass(const unsigned char* from, size_t bytes, unsigned char* to) {
    for (size_t at = 0; at < bytes; at += kPieceBytes) {
      const int piece = static_cast<int>(std::min(kPieceBytes, bytes - at));
      int written = 0;
      need(c_.update(context_.get(), to + at, &written, from + at, piece) == 1 && written == piece);
    }
  }
  void take_tag(unsigned char* tag) { need(finish() && c_.control(context_.get(), kGetTag, kTagBytes, tag) == 1); }
  bool tag_is(const unsigned char* tag) {
    unsigned char copy[kTagBytes];
    std::copy_n(tag, kTagBytes, copy);
    need(c_.control(context_.get(), kSetTag, kTagBytes, copy) == 1);
    return finish();
  }

 private:
  static void need(bool fine) { check_runtime(fine, "libcrypto refused AES-256-GCM"); }
  bool finish() {
    unsigned char rest[kTagBytes];
    int written = 0;
    return c_.final(context_.get(), rest, &written) == 1;
  }

  const Crypto& c_;
  std::unique_ptr<void, void (*)(void*)> context_;
};

void check_key(std::string_view key) {
  check(key.size() == kKeyBytes, "the key of a model has ", kKeyBytes, " bytes, got ", key.size());
}

}  // namespace

bool is_encrypted(const void* data, size_t bytes) {
  return bytes >= sizeof kMagic && std::memcmp(data, kMagic, sizeof kMagic) == 0;
}

std::string encrypt(std::string_view plain, std::string_view key) {
  check_key(key);
  check(plain.size() <= kMostBytes, "a model of ", plain.size(), " bytes is too large to be encrypted");
  Header header{};
  std::copy_n(kMagic, sizeof kMagic, header.magic);
  header.version = kVersion;
  header.bytes = plain.size();
  check_runtime(getrandom(header.nonce, kNonceBytes, 0) == static_cast<ssize_t>(kNonceBytes),
                "the system gives no random numbers");
  Cipher cipher(header, key, true);
  std::string out(sizeof header + plain.size() + kTagBytes, '\0');
  std::memcpy(out.data(), &header, sizeof header);
  auto* to = reinterpret_cast<unsigned char*>(out.data()) + sizeof header;
  cipher.pass(reinterpret_cast<const unsigned char*>(plain.data()), plain.size(), to);
  cipher.take_tag(to + plain.size());
  return out;
}

Ref<Storage> decrypt(const void* data, size_t bytes, std::string_view key) {
  check(is_encrypted(data, bytes), "the model is not encrypted: load it without a key");
  check_key(key);
  Header header;
  check(bytes >= sizeof header + kTagBytes, "the encrypted model is cut off");
  std::memcpy(&header, data, sizeof header);
  check(header.version == kVersion, "the model is encrypted in another way, version ", header.version,
        "; this library knows version ", kVersion);
  const size_t have = bytes - sizeof header - kTagBytes;
  check(header.bytes == have, "the encrypted model is cut off, or has grown: it says ", header.bytes,
        " bytes, there are ", have);
  check(have <= kMostBytes, "the encrypted model is too large");
  Cipher cipher(header, key, false);
  auto plain = make_ref<Storage>(std::max<size_t>(have, 64));
  if (have < 64) std::memset(plain->data(), 0, 64);
  const auto* from = static_cast<const unsigned char*>(data) + sizeof header;
  cipher.pass(from, have, static_cast<unsigned char*>(plain->data()));
  if (!cipher.tag_is(from + have)) {
    std::memset(plain->data(), 0, have);
    fail(ErrorKind::Value, "the model cannot be decrypted: the key is another one, or the file was changed");
  }
  return plain;
}

}  // namespace hw::infer
