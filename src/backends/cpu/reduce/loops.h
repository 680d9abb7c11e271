// Inner loops of reductions on contiguous data of one dtype, by kind and instruction set.
#pragma once

#include <cstdint>

#include "kernels/reduce/plan.h"

namespace hw {

struct ReduceLoops {
  /// *acc = combine(*acc, x[0], ..., x[n-1]) with as many independent partial results as the instruction set likes.
  void (*row)(const void* x, int64_t n, void* acc) = nullptr;
  /// The same for rows of f16 or bf16 that are accumulated in f32; null for other dtypes.
  void (*row16)(const void* x, int64_t n, void* acc) = nullptr;
  /// acc[c] = combine(acc[c], rows[0][c], ..., rows[k-1][c]) for c in [0, n); 1 <= k <= kMostRows.
  void (*columns)(const void* const* rows, int k, int64_t n, void* acc) = nullptr;
  /// acc[c] = combine(acc[c], part[c]), both partial results.
  void (*merge)(const void* part, int64_t n, void* acc) = nullptr;
  /// acc[c] = the value that changes nothing.
  void (*clear)(void* acc, int64_t n) = nullptr;
  /// Results from accumulators of several numbers (of the compute dtype) after `count` elements, of each of up to two outputs; null
  /// where an accumulator is its own result.
  void (*finish)(const ReduceRecipe& recipe, int64_t count, const void* acc, int64_t n, void* first,
                 void* second) = nullptr;
  int64_t numbers = 1;
};
constexpr int kMostRows = 8;

/// Null functions where the kind has no meaning for the dtype. Compute dtypes: bool, i64, f32, f64, c64, c128.
/// `in` is the dtype in memory.
ReduceLoops find_reduce_loops(ReduceKind kind, DType compute, DType in);
/// For Moments and LogSumExp, in f32 and f64.
ReduceLoops find_moment_loops(ReduceKind kind, DType compute);

}  // namespace hw
