// What one call of an op costs, for all that count or estimate: the profiler, rehearsals of plans, recomputation.
#pragma once

#include <optional>

#include "op/op_def.h"

namespace hw::cost {

struct CallCost {
  double operations = 0;  // as the op's rule counts them
  double price = 1;       // what one of them takes, in vector operations
  double time() const { return operations * price; }
};

/// What the op's rule says; nothing without a rule, or where the rule refuses these shapes.
std::optional<CallCost> ruled_cost(const OpDef& op, std::span<const TensorSpec> in, const Attrs& attrs);
/// The same; without it an operation for each element of the outputs.
CallCost call_cost(const OpDef& op, std::span<const TensorSpec> in, const Attrs& attrs,
                   std::span<const TensorSpec> out);

}  // namespace hw::cost
