// Loops of special functions.
#include "kernels/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise/loops_special.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "kernels/elementwise/functors_float.h"
#include "kernels/elementwise/make_loops.h"

HWY_BEFORE_NAMESPACE();
namespace hw {
namespace HWY_NAMESPACE {
void fill_special(AddElementwise add) { add_loops<kFloats>(functors::Special{}, add); }
}  // namespace HWY_NAMESPACE
}  // namespace hw
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hw {
HWY_EXPORT(fill_special);
static const RegisterElementwise registered([](AddElementwise add) { HWY_DYNAMIC_DISPATCH(fill_special)(add); });
}  // namespace hw
#endif
