// Loops of functors on bits and whole numbers.
#include "kernels/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise/loops_bits.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "kernels/elementwise/functors_logic.h"
#include "kernels/elementwise/make_loops.h"

HWY_BEFORE_NAMESPACE();
namespace hw {
namespace HWY_NAMESPACE {
void fill_bits(AddElementwise add) { add_loops<kAll>(functors::Bits{}, add); }
}  // namespace HWY_NAMESPACE
}  // namespace hw
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hw {
HWY_EXPORT(fill_bits);
static const RegisterElementwise registered([](AddElementwise add) { HWY_DYNAMIC_DISPATCH(fill_bits)(add); });
}  // namespace hw
#endif
