// Line functions that pick an element: the largest or smallest, with its index.
#pragma once

#include "kernels/lines/lines.h"

namespace hw {

struct ChooseLines {
  LineFn line = nullptr;
  LineBlockFn block = nullptr;
};

/// For elements of dtype d in memory (f16, bf16, f32, f64, i32, i64). The first of equal elements; the first NaN before everything.
/// Outputs: the value, f32 for 16-bit elements, and the index; or the index alone where the second is null.
ChooseLines find_choose_lines(DType d, bool largest);
/// Bytes of LineSpec::block_sums.
constexpr int64_t kChooseSums = 16;

}  // namespace hw
