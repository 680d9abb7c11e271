// Reference loops of order, choice and simple activations.
#include "kernels/elementwise/functors_arithmetic.h"
#include "kernels/elementwise/make_loops.h"

namespace hw {
static const RegisterReferenceElementwise registered([](AddElementwise add) {
  using namespace HWY_NAMESPACE;
  add_loops<kAll, true>(functors::Simple{}, add);
});
}  // namespace hw
