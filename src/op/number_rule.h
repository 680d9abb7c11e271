// What an op does with a Python number that its dtype cannot hold.
#pragma once

#include <span>
#include <string_view>

#include "op/op_def.h"

namespace hw {

/// A Python number gives way to the tensors beside it, so u8 + 300 is computed in u8. Nothing is cut off on the way unless the op
/// says that this is its meaning.
enum class NumberRule : uint8_t {
  Exact,     // refused (floor_divide, maximum): what an op does that declares nothing
  Wraps,     // taken modulo 2^n, as every integer result of the op is (add, mul, bitwise_and)
  Compares,  // greater or less than every element (eq, lt)
  Stores,    // ends up in the result (fill_, where, scatter): must fit as in torch, where fractions are cut off
  Bounds,    // as an attribute: a bound beyond the range never binds (hardtanh)
};

/// Stands beside the declaration of the op: `static const RegisterNumberRule numbers{"add", NumberRule::Wraps};`
struct RegisterNumberRule {
  RegisterNumberRule(std::string_view op, NumberRule rule);
};
NumberRule number_rule(const OpDef& op);

/// The word for it: "exact", "wraps", ...
std::string_view number_rule_name(NumberRule rule);

/// Refuses numbers among the inputs that the op's dtype cannot hold, by the op's rule; `Compares` replaces them by an infinity.
/// For what users hand in: numbers in rules and composites are chosen by their authors.
void fit_numbers(const OpDef& op, std::span<Tensor> in);

/// The same for attributes that are numbers, once the dtype is known. Part of infer_outputs.
void check_number_attrs(const InferCtx& c);

/// For composites and bindings: refuses what `into` cannot hold, as `Stores` does. what: "value".
void check_stored(std::string_view what, const Scalar& value, DType into);

}  // namespace hw
