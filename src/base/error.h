// Errors: check(...) for the user's fault, bug(...) for ours. Both need words; the text is built only when it fails.
#pragma once

#include <exception>
#include <string>

#include "base/text.h"

namespace hw {

/// Which Python exception an Error becomes: ValueError, TypeError, IndexError, RuntimeError, NotImplementedError,
/// MemoryError, KeyError, OverflowError.
enum class ErrorKind : uint8_t { Value, Type, Index, Runtime, NotImplemented, Memory, Key, Overflow };

class Error : public std::exception {
 public:
  Error(ErrorKind kind, std::string message) : kind_(kind), message_(std::move(message)) {}
  ErrorKind kind() const { return kind_; }
  const std::string& message() const { return message_; }
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  ErrorKind kind_;
  std::string message_;
};

[[noreturn]] void throw_error(ErrorKind kind, std::string message);
[[noreturn]] void throw_bug(std::string message);

template <class... Args>
[[noreturn]] void fail(ErrorKind kind, const Args&... args) {
  throw_error(kind, text(args...));
}

/// A condition on what the user gave. Throws Error{Value}.
template <class... Args>
inline void check(bool ok, const Args&... args) {
  static_assert(sizeof...(Args) > 0, "a check needs words: what differs, both values, what to do");
  if (!ok) [[unlikely]]
    fail(ErrorKind::Value, args...);
}
template <class... Args>
inline void check_type(bool ok, const Args&... args) {
  if (!ok) [[unlikely]]
    fail(ErrorKind::Type, args...);
}
template <class... Args>
inline void check_index(bool ok, const Args&... args) {
  if (!ok) [[unlikely]]
    fail(ErrorKind::Index, args...);
}
template <class... Args>
inline void check_runtime(bool ok, const Args&... args) {
  if (!ok) [[unlikely]]
    fail(ErrorKind::Runtime, args...);
}

/// An invariant of ours that does not hold.
template <class... Args>
[[noreturn]] void bug(const Args&... args) {
  throw_bug(text(args...));
}

}  // namespace hw
