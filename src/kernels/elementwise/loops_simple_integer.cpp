// Loops of order and choice on integers.
#include "kernels/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise/loops_simple_integer.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "kernels/elementwise/functors_arithmetic.h"
#include "kernels/elementwise/make_loops.h"

HWY_BEFORE_NAMESPACE();
namespace hw {
namespace HWY_NAMESPACE {
void fill_simple_integer(AddElementwise add) { add_loops<kIntegers>(functors::Simple{}, add); }
}  // namespace HWY_NAMESPACE
}  // namespace hw
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hw {
HWY_EXPORT(fill_simple_integer);
static const RegisterElementwise registered([](AddElementwise add) { HWY_DYNAMIC_DISPATCH(fill_simple_integer)(add); });
}  // namespace hw
#endif
