// A hash of 128 bits of a sequence of bytes, for keys and for noticing damage. No defence against forgery.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

namespace hw {

struct Hash128 {
  uint64_t low = 0, high = 0;
  bool operator==(const Hash128&) const = default;
};

std::string hex(const Hash128& hash);  // 32 digits

Hash128 hash128(const void* data, size_t bytes);

/// The same of pieces that are added one after the other.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(const Hasher&) = delete;

  void add(const void* data, size_t bytes);
  /// With its length, so that "ab", "c" is not "a", "bc".
  void add_text(std::string_view s);
  template <class T>
  void add_value(T v) {
    static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);
    add(&v, sizeof v);
  }
  Hash128 result() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hw
