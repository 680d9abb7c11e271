// Products of bytes by a packed int8 weight: routines of one instruction set.
#pragma once

#include <cstdint>

#include "kernels/linalg/int8_linear.h"

namespace hw {

/// Rows of y and a range of its columns, on one thread.
struct Int8Block {
  int64_t m, pairs;      // rows; pairs of columns of x
  const int16_t* x;      // Int8Routines::pack_rows made it
  const int8_t* weight;  // from its first panel
  int64_t width;         // of a panel: Int8Routines::columns
  int64_t begin, end;    // columns of y; begin is a multiple of the width
  Int8Finish finish;
  bool relu;
  DType out;
  void* y;  // from the first row and column 0
  int64_t y_row;
};

struct Int8Routines {
  /// Rows [begin, end) of x (of m; begin a multiple of `rows`), widened, `rows` of them side by side in pairs of columns.
  void (*pack_rows)(const void* x, bool is_signed, int64_t m, int64_t k, int64_t begin, int64_t end, int16_t* packed);
  void (*product)(const Int8Block& block);
  int rows, columns;  // of a tile
};

Int8Routines int8_routines();

}  // namespace hw
