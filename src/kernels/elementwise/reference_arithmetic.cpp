// Reference loops of the arithmetic functors.
#include "kernels/elementwise/functors_arithmetic.h"
#include "kernels/elementwise/make_loops.h"

namespace hw {
static const RegisterReferenceElementwise registered([](AddElementwise add) {
  HWY_NAMESPACE::add_loops<kAll, true>(HWY_NAMESPACE::functors::Arithmetic{}, add);
});
}  // namespace hw
