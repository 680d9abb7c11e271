// Matrix products of f64, for each instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/gemm/gemm_f64.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "backends/cpu/gemm/targets.h"

#include "backends/cpu/gemm/gemm_block-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hw::HWY_NAMESPACE {
GemmRoutines f64_routines() { return routines<double, double>(); }
}  // namespace hw::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hw {
GemmRoutines gemm_f64_routines() { return HW_BEST_TARGET(f64_routines)(); }
}  // namespace hw
#endif
