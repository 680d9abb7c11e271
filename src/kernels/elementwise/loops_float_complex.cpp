// Loops of elementary functions of complex numbers.
#include "kernels/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise/loops_float_complex.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "kernels/elementwise/functors_float.h"
#include "kernels/elementwise/make_loops.h"

HWY_BEFORE_NAMESPACE();
namespace hw {
namespace HWY_NAMESPACE {
void fill_float_complex(AddElementwise add) {
  add_loops<kComplexes>(functors::Exponential{}, add);
  add_loops<kComplexes>(functors::Hyperbolic{}, add);
  add_loops<kComplexes>(functors::Trigonometric{}, add);
}
}  // namespace HWY_NAMESPACE
}  // namespace hw
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hw {
HWY_EXPORT(fill_float_complex);
static const RegisterElementwise registered([](AddElementwise add) { HWY_DYNAMIC_DISPATCH(fill_float_complex)(add); });
}  // namespace hw
#endif
