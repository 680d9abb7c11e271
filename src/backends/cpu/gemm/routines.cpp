// The block routines of a dtype.
#include "backends/cpu/gemm/gemm.h"

namespace hw {

GemmRoutines gemm_f32_routines();
GemmRoutines gemm_f64_routines();
GemmRoutines gemm_f16_routines();
GemmRoutines gemm_bf16_routines();

GemmRoutines gemm_routines(DType dtype) {
  switch (dtype) {
    case DType::F32: return gemm_f32_routines();
    case DType::F64: return gemm_f64_routines();
    case DType::F16: return gemm_f16_routines();
    case DType::BF16: return gemm_bf16_routines();
    default: return {};
  }
}

}  // namespace hw
