// Products of f32 by a packed weight, with what follows them: routines of one instruction set.
#pragma once

#include <cstdint>

#include "kernels/linalg/packed_linear.h"

namespace hw {

/// Rows of y and a range of its columns, on one thread.
struct PackedBlock {
  int64_t m, k;
  const float* x;  // PackedRoutines::pack_rows made it; for few rows, as it lies
  int64_t x_row;
  const float* weight;  // from its first panel
  int64_t width;        // of a panel, a multiple of PackedRoutines::columns
  int64_t begin, end;   // columns of y; begin is a multiple of the width
  const float* bias;    // null when there is none; from column 0, as are the following
  const float* residual;
  int64_t residual_row;
  float* y;
  int64_t y_row;
  Activation activation;
};

struct PackedRoutines {
  /// Rows [begin, end) of x (of m; begin a multiple of `rows`) for `product`.
  void (*pack_rows)(const float* x, int64_t x_row, int64_t m, int64_t k, int64_t begin, int64_t end, float* packed);
  void (*pack_weight)(const float* weight, int64_t row, int64_t column, int64_t count, int64_t k, int64_t width,
                      float* packed);
  void (*product)(const PackedBlock& block);
  /// The same for up to kFewRows rows, read where they lie.
  void (*few_rows)(const PackedBlock& block);
  int rows, columns;  // of a tile
};
constexpr int64_t kFewRows = 4;

PackedRoutines packed_routines();

}  // namespace hw
