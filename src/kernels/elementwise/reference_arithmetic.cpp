// Reference loops of arithmetic and rounding.
#include "kernels/elementwise/functors_arithmetic.h"
#include "kernels/elementwise/make_loops.h"

namespace hw {
static const RegisterReferenceElementwise registered([](AddElementwise add) {
  using namespace HWY_NAMESPACE;
  add_loops<kAll, true>(functors::Arithmetic{}, add);
  add_loops<kAll, true>(functors::Rounding{}, add);
});
}  // namespace hw
