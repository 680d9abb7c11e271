// Operands of the loop drivers: how each is reached, and the staging buffers between memory and loop.
#pragma once

#include <algorithm>
#include <cstddef>

#include "kernels/elementwise/driver.h"
#include "kernels/loops/convert.h"
#include "kernels/loops/gather.h"
#include "kernels/loops/nest.h"

namespace hw {

constexpr int64_t kPiece = 32768;  // elements per thread below which a cheap loop stays on the caller
constexpr int64_t kChunk = 1024;   // elements per staging buffer
constexpr int kMaxInputs = 4;

inline int64_t piece_size(const ElementwisePlan& plan) { return std::max<int64_t>(kPiece / plan.entry->cost, 1); }

/// Operand 0 is the output.
struct Operand {
  int64_t size = 0;                 // bytes per element in memory
  int64_t staged_size = 0;          // and in the loop
  int64_t inner_stride = 0;         // elements
  bool same_dtype = false;          // memory and loop agree
  bool linear = false;              // contiguous over the whole nest: usable in place for any range
  bool constant = false;            // the same element everywhere
  bool periodic = false;            // the same row everywhere
  ConvertFn convert = nullptr;      // between memory and loop, in the direction of use
  ConvertRowFn row = nullptr;       // faster, for contiguous rows
  ConvertRowFn shuffled = nullptr;  // faster still, in another order
  GatherFn gather = nullptr;        // of rows, where the dtypes agree
  bool in_place() const { return same_dtype && inner_stride == 1; }
};
Operand make_operand(const ElementwisePlan& plan, const Nest& nest, int o);

/// Staging buffers, and for each what already fills a part of it.
struct Stage {
  alignas(
      64) std::byte buffer[kMaxInputs + 1][(kChunk + 16) * 16];  // 16 elements more, so that fills may run past the end
  const void* source[kMaxInputs + 1] = {};
  int64_t count[kMaxInputs + 1] = {};
};

std::unique_ptr<Kernel> make_rows_kernel(const ElementwisePlan& plan, Nest nest);

/// The axis along which an input is contiguous that is strided along the innermost axis, if tiles pay; else 0.
int64_t tiled_axis(const ElementwisePlan& plan, const Nest& nest);
std::unique_ptr<Kernel> make_tiles_kernel(const ElementwisePlan& plan, Nest nest, int64_t axis);

}  // namespace hw
