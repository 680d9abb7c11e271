// Reference loops of fused gradients.
#include "kernels/elementwise/functors_grad.h"
#include "kernels/elementwise/make_loops.h"

namespace hw {
static const RegisterReferenceElementwise registered([](AddElementwise add) {
  using namespace HWY_NAMESPACE;
  add_loops<kAll, true>(functors::Gradients{}, add);
});
}  // namespace hw
