// Matrix products of f16 and bf16, summed in f32, for each instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/gemm/gemm_16bit.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "backends/cpu/gemm/targets.h"

#include "backends/cpu/gemm/gemm_block-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hw::HWY_NAMESPACE {
GemmRoutines f16_routines() { return routines<Half, float>(); }
GemmRoutines bf16_routines() { return routines<BFloat16, float>(); }
}  // namespace hw::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hw {
GemmRoutines gemm_f16_routines() { return HW_BEST_TARGET(f16_routines)(); }
GemmRoutines gemm_bf16_routines() { return HW_BEST_TARGET(bf16_routines)(); }
}  // namespace hw
#endif
