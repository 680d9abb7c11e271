// Refusing to read values that are not there.
#include "core/read_guard.h"

#include <algorithm>

#include "base/error.h"

namespace hw {

static thread_local ReadRefusal t_refusal;

ReadRefusal set_read_refusal(ReadRefusal refusal) noexcept { return std::exchange(t_refusal, refusal); }

void check_readable(const Tensor& t, const char* what) {
  if (t_refusal.why && !t_refusal.known(t)) [[unlikely]]
    fail(ErrorKind::Runtime, what, " needs the value of ", t, ", ", t_refusal.why);
  check_runtime(
      !t->global, what, ": ", t,
      " is a global tensor, of which each rank has a part; take it whole with full(), or a part with to_local()");
  check_has_memory(t, what);
}

void check_has_memory(const Tensor& t, std::string_view what) {
  check_runtime(!is_abstract(t), what, ": ", t,
                " has no data: it was made while hw.compile captured a function, and outlived the capture");
}

bool is_readable(const Tensor& t) { return !(t_refusal.why && !t_refusal.known(t)) && !is_abstract(t); }

void check_not_capturing(const char* what) {
  if (t_refusal.why) [[unlikely]]
    fail(ErrorKind::Runtime, what,
         " would make the values of an array a constant of the program; pass the array as an ",
         "argument, or make it a tensor outside");
}

Tensor abstract_tensor(const TensorSpec& spec) {
  TensorSpec s = spec;
  if (s.strides.size() != s.shape.size()) s.strides = contiguous_strides(s.shape);
  int64_t elements = s.numel() ? 1 : 0;
  for (size_t i = 0; i < s.shape.size() && elements; ++i) elements += (s.shape[i] - 1) * s.strides[i];
  // A byte at least: storage without memory and without bytes is that of an ordinary empty tensor.
  const int64_t bytes = std::max<int64_t>(elements * dtype_size(s.dtype), 1);
  auto storage = make_ref<Storage>(
      nullptr, static_cast<size_t>(bytes), +[](void*) {}, nullptr);
  return Tensor::make(std::move(storage), s.dtype, s.shape, s.strides);
}

static WholeOf g_whole_of = nullptr;
WholeOf whole_of_global() noexcept { return g_whole_of; }
void set_whole_of_global(WholeOf f) noexcept { g_whole_of = f; }

}  // namespace hw
