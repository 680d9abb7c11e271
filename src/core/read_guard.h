// While a program is captured its tensors hold no data, and what other tensors hold now is not what they will hold when it runs.
#pragma once

#include <string_view>

#include "core/tensor.h"

namespace hw {

/// A tensor with sizes but no memory behind it: an abstract value of a capture.
Tensor abstract_tensor(const TensorSpec& spec);
inline bool is_abstract(const Tensor& t) { return !t->storage->data() && t->storage->bytes() > 0; }

/// While set, reading a value on this thread is an error with this text, except for tensors of which `known` says that their values
/// are the same in every run.
struct ReadRefusal {
  const char* why = nullptr;  // null: reading is allowed
  bool (*known)(const Tensor& t) = nullptr;
};
ReadRefusal set_read_refusal(ReadRefusal refusal) noexcept;  // returns the one before
/// Throws if values cannot be read: `what` names the attempt ("item()").
void check_readable(const Tensor& t, const char* what);
/// Whether check_readable() would let it pass.
bool is_readable(const Tensor& t);
/// Throws if t has elements but no memory: it outlived the capture that made it.
void check_has_memory(const Tensor& t, std::string_view what);
/// Where an op finds t: its first element, or null if it has none.
inline void* address_for(const Tensor& t, std::string_view what) {
  void* p = t.data();
  if (!p) [[unlikely]]
    check_has_memory(t, what);
  return p;
}
/// Throws while reading is refused: `what` would take values from outside that may be others in the next run.
void check_not_capturing(const char* what);

/// How the value of a global tensor is had, set by the room that makes them.
using WholeOf = Tensor (*)(const Tensor& t);
WholeOf whole_of_global() noexcept;
void set_whole_of_global(WholeOf f) noexcept;

}  // namespace hw
