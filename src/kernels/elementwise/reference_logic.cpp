// Reference loops of comparison, logic, bits and whole-number division.
#include "kernels/elementwise/functors_logic.h"
#include "kernels/elementwise/make_loops.h"

namespace hw {
static const RegisterReferenceElementwise registered([](AddElementwise add) {
  using namespace HWY_NAMESPACE;
  add_loops<kAll, true>(functors::Comparison{}, add);
  add_loops<kAll, true>(functors::Logic{}, add);
  add_loops<kAll, true>(functors::Bits{}, add);
  add_loops<kAll, true>(functors::Division{}, add);
});
}  // namespace hw
