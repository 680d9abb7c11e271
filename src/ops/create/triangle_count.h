// How many elements of a matrix lie on and below a diagonal.
#pragma once

#include <cstdint>

namespace hw {

/// For a rows x columns matrix and the diagonal `offset` above the main one. Throws Error{Runtime} for sizes whose product
/// exceeds 2^62.
int64_t lower_triangle_count(int64_t rows, int64_t columns, int64_t offset);

}  // namespace hw
