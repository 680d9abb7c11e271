// Keeps what ops declare about Python numbers that their dtype cannot hold.
#pragma once

#include <span>
#include <string_view>

#include "op/op_def.h"

namespace hw {

// A Python number gives way to the tensors beside it, so u8 + 300 is computed in u8. Nothing is cut off on the way unless the op
// says that this is its meaning: `.numbers(NumberRule::Wraps)` in its declaration.

/// The word for it: "exact", "wraps", ...
std::string_view number_rule_name(NumberRule rule);

namespace number_detail {
void fit(const OpDef& op, std::span<Tensor> in);
}

/// Refuses numbers among the inputs that the op's dtype cannot hold, by the op's rule; `Compares` replaces them by an infinity.
/// For what users hand in: numbers in rules and composites are chosen by their authors.
inline void fit_numbers(const OpDef& op, std::span<Tensor> in) {
  if (op.number_rule() != NumberRule::Wraps && in.size() > 1) number_detail::fit(op, in);
}

/// The same for attributes that are numbers, once the dtype is known. Part of infer_outputs.
void check_number_attrs(const InferCtx& c);

/// For composites and bindings: refuses what `into` cannot hold, as `Stores` does. what: "value".
void check_stored(std::string_view what, const Scalar& value, DType into);

}  // namespace hw
