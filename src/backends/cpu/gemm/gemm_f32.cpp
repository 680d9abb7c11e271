// Matrix products of f32, for each instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/gemm/gemm_f32.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "backends/cpu/gemm/targets.h"

#include "backends/cpu/gemm/gemm_block-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hw::HWY_NAMESPACE {
GemmRoutines f32_routines() { return routines<float, float>(); }
}  // namespace hw::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hw {
GemmRoutines gemm_f32_routines() { return HW_BEST_TARGET(f32_routines)(); }
}  // namespace hw
#endif
