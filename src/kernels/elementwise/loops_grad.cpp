// Loops of fused gradients.
#include "kernels/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise/loops_grad.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "kernels/elementwise/functors_grad.h"
#include "kernels/elementwise/make_loops.h"

HWY_BEFORE_NAMESPACE();
namespace hw {
namespace HWY_NAMESPACE {
void fill_grad(AddElementwise add) { add_loops<kFloats>(functors::Gradients{}, add); }
}  // namespace HWY_NAMESPACE
}  // namespace hw
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hw {
HWY_EXPORT(fill_grad);
static const RegisterElementwise registered([](AddElementwise add) { HWY_DYNAMIC_DISPATCH(fill_grad)(add); });
}  // namespace hw
#endif
