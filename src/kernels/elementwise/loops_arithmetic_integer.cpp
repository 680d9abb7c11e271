// Loops of the arithmetic functors on integers and bool.
#include "kernels/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise/loops_arithmetic_integer.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "kernels/elementwise/functors_arithmetic.h"
#include "kernels/elementwise/make_loops.h"

HWY_BEFORE_NAMESPACE();
namespace hw {
namespace HWY_NAMESPACE {
void fill_arithmetic_integer(AddElementwise add) { add_loops<kIntegers | kBool>(functors::Arithmetic{}, add); }
}  // namespace HWY_NAMESPACE
}  // namespace hw
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hw {
HWY_EXPORT(fill_arithmetic_integer);
static const RegisterElementwise registered([](AddElementwise add) {
  HWY_DYNAMIC_DISPATCH(fill_arithmetic_integer)(add);
});
}  // namespace hw
#endif
