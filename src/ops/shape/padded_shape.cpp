// The shape after padding; see the header.
#include "ops/shape/padded_shape.h"

#include "base/error.h"

namespace hw {

Dims padded_shape(const Dims& shape, const Dims& pad, std::string_view mode) {
  Dims out = shape;
  check_runtime(pad.size() % 2 == 0 && pad.size() / 2 <= shape.size(), "pad ", pad,
                " must hold two numbers for each of at most ", static_cast<int64_t>(shape.size()), " axes");
  check_runtime(mode.empty() || mode == "reflect" || mode == "replicate" || mode == "circular", "mode '",
                std::string(mode), "' is unknown");
  for (size_t i = 0; i + 1 < pad.size(); i += 2) {
    const size_t axis = shape.size() - 1 - i / 2;
    const int64_t size = shape[axis], before = pad[i], after = pad[i + 1];
    if (!mode.empty()) {
      check_runtime(size > 0 || (before == 0 && after == 0), "axis ", static_cast<int64_t>(axis),
                    " has no elements to copy");
      const int64_t most = mode == "reflect" ? size - 1 : mode == "circular" ? size : INT64_MAX;
      check_runtime(before <= most && after <= most, "mode '", mode, "' can add at most ", most,
                    " elements at each end of axis ", static_cast<int64_t>(axis), " with size ", size, ", got pad ",
                    pad);
    }
    check_runtime(before > -(int64_t{1} << 48) && before < int64_t{1} << 48 && after > -(int64_t{1} << 48) &&
                      after < int64_t{1} << 48,
                  "pad ", pad, " is too large");
    out[axis] = size + before + after;
    check_runtime(out[axis] >= 0, "pad ", pad, " takes more from axis ", static_cast<int64_t>(axis), " than its size ",
                  size);
  }
  return out;
}

}  // namespace hw
