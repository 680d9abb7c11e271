// What comes out of a call.
#include "eager/infer.h"

namespace hw {

std::vector<TensorSpec> specs_of(std::span<const Tensor> tensors) {
  std::vector<TensorSpec> specs(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i)
    if (tensors[i].defined()) specs[i] = tensors[i].spec();
  return specs;
}

/// A given output must be as inferred; only its dtype and strides may differ.
static void check_given(const TensorSpec& inferred, const Tensor& given) {
  check_runtime(given.shape() == inferred.shape, "the result has shape ", inferred.shape,
                ", but it is to be written into ", given);
  check_runtime(can_cast(inferred.dtype, given.dtype()), "the result is ", inferred.dtype,
                ", which cannot be stored in ", given, " without loss of kind");
}

Inferred infer_call(const OpDef& op, std::span<const TensorSpec> in, const Attrs& attrs,
                    std::span<const Tensor> given) {
  Inferred made;
  made.compute = compute_dtype(op, in);
  made.outputs = infer_outputs({op, in, attrs, made.compute});
  for (size_t i = 0; i < given.size(); ++i) {
    if (!given[i].defined()) continue;
    check_given(made.outputs[i], given[i]);
    made.outputs[i] = given[i].spec();
  }
  for (const TensorSpec& s : made.outputs) numel(s.shape);
  return made;
}

}  // namespace hw
