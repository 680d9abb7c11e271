// Counting the elements of triangles; see the header.
#include "ops/create/triangle_count.h"

#include <algorithm>

#include "base/error.h"

namespace hw {

int64_t lower_triangle_count(int64_t rows, int64_t columns, int64_t offset) {
  check_runtime(rows >= 0 && columns >= 0, "row and col cannot be negative, got ", rows, " and ", columns);
  check_runtime(static_cast<__int128>(rows) * columns < static_cast<__int128>(1) << 62, "a ", rows, " x ", columns,
                " matrix is too large");
  offset = std::clamp<int64_t>(offset, -rows, columns);
  // Row r has min(r + offset + 1, columns) elements, from row `first` on; from row `full` on it has them all.
  const int64_t first = std::clamp<int64_t>(-offset, 0, rows),
                full = std::clamp<int64_t>(columns - offset - 1, first, rows);
  const int64_t growing = full - first;
  const __int128 sum = static_cast<__int128>(growing) * (first + offset + 1 + full + offset) / 2;
  return static_cast<int64_t>(sum) + (rows - full) * columns;
}

}  // namespace hw
