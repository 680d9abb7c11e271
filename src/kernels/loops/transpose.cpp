// Tiled transposes; see the header.
#include "kernels/loops/transpose.h"

#include <algorithm>

#include "core/visit.h"

namespace hw {

template <class T>
static void transpose(const void* src, int64_t src_stride, void* dst, int64_t dst_stride, int64_t columns,
                      int64_t rows) {
  constexpr int64_t kTile = 16;
  const T* s = static_cast<const T*>(src);
  T* d = static_cast<T*>(dst);
  for (int64_t c0 = 0; c0 < columns; c0 += kTile) {
    const int64_t c1 = std::min(columns, c0 + kTile);
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = c0; c < c1; ++c) d[r * dst_stride + c] = s[c * src_stride + r];
  }
}

TransposeFn find_transpose(int64_t bytes) {
  return visit_size(bytes, []<class T>(Type<T>) -> TransposeFn { return &transpose<T>; });
}

}  // namespace hw
