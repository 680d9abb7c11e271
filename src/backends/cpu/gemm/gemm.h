// Matrix products for any strides, dtype f16 bf16 f32 f64: C = alpha * A B + beta * input, batched, in own SIMD code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/dtype.h"
#include "kernels/linalg/product.h"

namespace hw {

/// A part of one product, as the instruction-set specific code sees it: c_col is 1.
struct GemmBlock {
  int64_t m, n, k;
  const void *a, *b;
  int64_t a_row, a_col, b_row, b_col;
  void* c;
  int64_t c_row;
  const void* input;  // null when there is none
  int64_t input_row, input_col;
  double alpha = 1, beta = 1;
  void* scratch;
  bool accumulate = false;  // C += instead of C =; f32 and f64 only
};

/// Block routines of one instruction set, for one dtype.
struct GemmRoutines {
  void (*block)(const GemmBlock& block);
  /// Bytes that block() needs for sizes up to these.
  size_t (*scratch)(int64_t m, int64_t n, int64_t k);
  int mr, nr;  // preferred multiples when a product is cut into blocks
};

/// For the instruction set in use; null block for a dtype that is not f16, bf16, f32 or f64.
GemmRoutines gemm_routines(DType dtype);

/// A product cut for the thread team: immutable, made once, run many times.
class Gemm {
 public:
  Gemm() = default;
  /// Returns false with the reason when C has no unit stride or the dtype is not served. threads <= 0: as many as pay.
  bool prepare(const Product& shape, std::string& why_not, int threads = 0);
  size_t scratch_bytes() const { return slots_ * slot_bytes_; }
  void run(const void* a, const void* b, const void* input, void* c, void* scratch) const;
  const Product& shape() const { return shape_; }

 private:
  void run_unit(int64_t unit, const char* a, const char* b, const char* input, char* c, char* scratch) const;

  Product shape_;  // transposed when C is column-major
  bool swapped_ = false;
  GemmRoutines routines_{};
  int64_t grid_m_ = 1, grid_n_ = 1, block_m_ = 0, block_n_ = 0;
  size_t slots_ = 1, slot_bytes_ = 0;
};

}  // namespace hw
