// Line functions of running sums, products and extremes.
#pragma once

#include <string_view>

#include "kernels/lines/lines.h"

namespace hw {

struct ScanLines {
  LineFn line = nullptr;
  LineBlockFn block = nullptr;
};

/// For cumsum, cumprod, cummax and cummin of elements of dtype d in memory: f16, bf16, f32, f64, i64, for extremes i32 too.
/// The latter write the index as a second output.
ScanLines find_scan_lines(std::string_view op, DType d);
/// Bytes of LineSpec::block_sums.
constexpr int64_t kScanSums = 16;

}  // namespace hw
