// The rules of a call: what comes out of it, and errors that name it.
#pragma once

#include "base/error.h"
#include "op/rules.h"

namespace hw {

std::vector<TensorSpec> specs_of(std::span<const Tensor> tensors);

/// Puts "op(a=f32[2], ...): " in front of an error of the rules.
template <class F>
auto explained(const OpDef& op, std::span<const TensorSpec> in, const Attrs& attrs, F&& f) {
  try {
    return f();
  } catch (const Error& e) {
    throw Error(e.kind(), text(call_text(op, in, attrs), ": ", e.message()));
  }
}

struct Inferred {
  DType compute = DType::None;
  std::vector<TensorSpec> outputs;
};
/// Output specs; a defined entry of `given` is an output that exists already, which must fit.
Inferred infer_call(const OpDef& op, std::span<const TensorSpec> in, const Attrs& attrs, std::span<const Tensor> given);

}  // namespace hw
