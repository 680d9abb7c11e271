// The rule library: dtype, shape and SBP rules that many ops share. An op's file names them.
#pragma once

#include "op/op_def.h"

namespace hw {

/// torch's result type: tensors with axes before 0-d tensors before Python numbers, within each category.
DType result_type(std::span<const TensorSpec> specs);

namespace dtype {
DType same(const InferCtx& c);      // of input 0
DType promoted(const InferCtx& c);  // c.compute
DType boolean(const InferCtx& c);
DType int64(const InferCtx& c);
DType real(const InferCtx& c);  // of input 0, complex made real
/// The attribute `dtype` if given, else of input 0 with integers and bool summed as i64 (sum, prod, cumsum).
DType accumulated(const InferCtx& c);
/// The attribute `dtype` if given, else the default dtype (creation).
DType given_or_default(const InferCtx& c);
/// The attribute `dtype` if given, else of input 0.
DType given_or_same(const InferCtx& c);
}  // namespace dtype

namespace shape {
Dims same(const InferCtx& c);       // of input 0
Dims broadcast(const InferCtx& c);  // of all given inputs
Dims scalar(const InferCtx& c);     // []
Dims size(const InferCtx& c);       // the attribute `size`; throws on negative sizes
/// Input 0 reduced over the attribute `dim` (None or empty: all) with `keepdim`.
Dims reduced(const InferCtx& c);
}  // namespace shape

namespace sbp {
/// Any number of inputs broadcast to one output: split along each output axis.
void elementwise(SbpCtx& c);
/// As elementwise, and linear in each input alone with the others fixed to broadcast: partial sums pass through (neg, mul by B).
void linear(SbpCtx& c);
/// As elementwise, and linear in all inputs together: P, P -> P (add, sub).
void additive(SbpCtx& c);
/// Only the trivial signature: every rank computes the whole.
void broadcast_only(SbpCtx& c);
/// Reduction over `dim`: kept axes stay split; a split over a reduced axis gives `partial`.
void reduce_sum(SbpCtx& c);
void reduce_max(SbpCtx& c);
void reduce_min(SbpCtx& c);
void reduce_plain(SbpCtx& c);  // kept axes only (mean of uneven pieces, var, median)
/// Works along the attribute `dim` (softmax, cumsum, sort): every other axis may be split; same shape out for every output.
void along_dim(SbpCtx& c);
}  // namespace sbp

/// All signatures of an op for these specs, the all-broadcast one first.
std::vector<SbpSignature> sbp_signatures(const InferCtx& infer, std::span<const TensorSpec> out);

/// That every input is given unless optional, and of a dtype the op takes.
void check_inputs(const InferCtx& c);
/// Output specs by the op's rules. Checks dtypes first. Errors carry no prefix.
std::vector<TensorSpec> infer_outputs(const InferCtx& c);
/// The dtype in which the op computes (None when it does not promote).
DType compute_dtype(const OpDef& op, std::span<const TensorSpec> in);
/// "matmul(a=f32[4, 3], b=f32[5, 2])"
std::string call_text(const OpDef& op, std::span<const TensorSpec> in, const Attrs& attrs);
/// "sum(input, dim=None, keepdim=False, *, dtype=None)"
std::string signature_text(const OpDef& op);

}  // namespace hw
