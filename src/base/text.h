// Text from values, without <sstream>: text("a=", 3, ", b=", 1.5). Types join in by an append_text overload found by ADL.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace hw {

inline void append_text(std::string& out, std::string_view s) { out.append(s); }
inline void append_text(std::string& out, const char* s) { out.append(s); }
inline void append_text(std::string& out, const std::string& s) { out.append(s); }
inline void append_text(std::string& out, char c) { out.push_back(c); }
void append_signed(std::string& out, int64_t value);
void append_unsigned(std::string& out, uint64_t value);
void append_double(std::string& out, double value);  // shortest text that reads back to the same value

template <class T>
requires std::is_arithmetic_v<T> &&(!std::same_as<T, char>)void append_text(std::string& out, T value) {
  if constexpr (std::same_as<T, bool>)
    out.append(value ? "True" : "False");
  else if constexpr (std::is_floating_point_v<T>)
    append_double(out, static_cast<double>(value));
  else if constexpr (std::is_signed_v<T>)
    append_signed(out, value);
  else
    append_unsigned(out, value);
}

template <class... Args>
std::string text(const Args&... args) {
  std::string out;
  (append_text(out, args), ...);
  return out;
}

}  // namespace hw
