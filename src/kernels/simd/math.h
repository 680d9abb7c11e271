// All of hw::HWY_NAMESPACE::math: scalars everywhere, packs where the instruction set has fused multiply-add. Include this one.
#include "kernels/simd/formulas.h"
