// Reference loops of elementary and special functions.
#include "kernels/elementwise/functors_float.h"
#include "kernels/elementwise/make_loops.h"

namespace hw {
static const RegisterReferenceElementwise registered([](AddElementwise add) {
  using namespace HWY_NAMESPACE;
  add_loops<kAll, true>(functors::Exponential{}, add);
  add_loops<kAll, true>(functors::Hyperbolic{}, add);
  add_loops<kAll, true>(functors::Trigonometric{}, add);
  add_loops<kAll, true>(functors::Special{}, add);
  add_loops<kAll, true>(functors::Activation{}, add);
});
}  // namespace hw
