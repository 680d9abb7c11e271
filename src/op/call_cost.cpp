// What one call of an op costs.
#include "op/call_cost.h"

#include "base/error.h"
#include "op/cost.h"
#include "op/rules.h"

namespace hw::cost {

std::optional<CallCost> ruled_cost(const OpDef& op, std::span<const TensorSpec> in, const Attrs& attrs) {
  if (!op.flops_rule()) return std::nullopt;
  try {
    return CallCost{op.flops_rule()({op, in, attrs, compute_dtype(op, in)}), operation_price(op.flops_rule())};
  } catch (const Error&) {
    // The call itself will say what is wrong; of a part, the attributes may hold the sizes of the whole.
    return std::nullopt;
  }
}

CallCost call_cost(const OpDef& op, std::span<const TensorSpec> in, const Attrs& attrs,
                   std::span<const TensorSpec> out) {
  if (const std::optional<CallCost> ruled = ruled_cost(op, in, attrs)) return *ruled;
  CallCost cost;
  for (const TensorSpec& s : out)
    if (s.given()) cost.operations += static_cast<double>(s.numel());
  return cost;
}

}  // namespace hw::cost
