// The instruction sets that matrix code is compiled for, and the choice among them. Include before any Highway header.
#pragma once

#include <hwy/detect_targets.h>
#undef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)

#include "kernels/isa.h"

/// HW_BEST_TARGET(f): the function f of the best namespace that isa() allows. Only inside #if HWY_ONCE.
#if HWY_TARGETS & HWY_AVX3
#define HW_BEST_TARGET(f) (isa() == Isa::AVX512 ? N_AVX3::f : isa() == Isa::AVX2 ? N_AVX2::f : HW_BASELINE(f))
#elif HWY_TARGETS & HWY_AVX2
#define HW_BEST_TARGET(f) (isa() == Isa::AVX2 ? N_AVX2::f : HW_BASELINE(f))
#else
#define HW_BEST_TARGET(f) HW_BASELINE(f)
#endif
#define HW_BASELINE(f) HWY_STATIC_DISPATCH(f)
