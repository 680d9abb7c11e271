// Strides of a view under another shape.
#include "ops/shape/view_strides.h"

#include "base/error.h"

namespace hw {

Dims resolved_shape(std::span<const int64_t> from, std::span<const int64_t> shape) {
  Dims out(shape);
  int64_t known = 1, unknown = -1, total = numel(from);
  for (size_t i = 0; i < out.size(); ++i) {
    if (out[i] == -1) {
      check_runtime(unknown < 0, "only one size can be -1, got ", Dims(shape));
      unknown = static_cast<int64_t>(i);
      continue;
    }
    check_runtime(out[i] >= 0, "a size cannot be negative, got ", Dims(shape));
    check_runtime(!__builtin_mul_overflow(known, out[i], &known), "shape ", Dims(shape), " has too many elements");
  }
  if (unknown >= 0) {
    check_runtime(known != 0, "the size -1 in ", Dims(shape), " cannot be worked out next to a size of 0");
    check_runtime(total % known == 0, "shape ", Dims(shape), " does not fit ", total, " elements (", Dims(from), ")");
    out[static_cast<size_t>(unknown)] = total / known;
  } else {
    check_runtime(known == total, "shape ", Dims(shape), " has ", known, " elements, the input ", total, " (",
                  Dims(from), ")");
  }
  return out;
}

bool view_strides(std::span<const int64_t> from, std::span<const int64_t> strides, std::span<const int64_t> to,
                  Dims& out) {
  if (numel(from) == 0) {
    out = contiguous_strides(to);
    return true;
  }
  out.resize(to.size());
  // From the back: axes of `from` that lie behind one another in memory form a chunk, which axes of `to` must fill exactly.
  int64_t at = static_cast<int64_t>(to.size()) - 1;
  int64_t chunk_stride = from.empty() ? 1 : strides.back();
  int64_t chunk = 1, filled = 1;
  for (int64_t i = static_cast<int64_t>(from.size()) - 1; i >= 0; --i) {
    size_t u = static_cast<size_t>(i);
    chunk *= from[u];
    bool last = i == 0 || (from[u - 1] != 1 && strides[u - 1] != chunk * chunk_stride);
    if (!last) continue;
    while (at >= 0 && (filled < chunk || to[static_cast<size_t>(at)] == 1)) {
      out[static_cast<size_t>(at)] = filled * chunk_stride;
      filled *= to[static_cast<size_t>(at)];
      --at;
    }
    if (filled != chunk) return false;
    if (i > 0) {
      chunk_stride = strides[u - 1];
      chunk = filled = 1;
    }
  }
  for (; at >= 0; --at) out[static_cast<size_t>(at)] = 1;  // a 0-d tensor seen as [1, 1, ...]
  return true;
}

}  // namespace hw
