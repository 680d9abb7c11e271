// Autocast: floating inputs of matmul-like ops become bf16, those of sensitive ops f32.
#include "eager/autocast.h"

#include "op/math.h"

namespace hw {

static DType target(const OpDef& op, std::span<const Tensor> in) {
  switch (op.autocast()) {
    case Autocast::Same: return DType::None;
    case Autocast::Lower: return t_autocast.dtype;
    case Autocast::F32: return DType::F32;
    case Autocast::Widest: break;
  }
  DType widest = DType::None;
  for (const Tensor& t : in)
    if (t.defined() && is_floating(t.dtype()) && !t->wrapped) widest = promote(widest, t.dtype());
  return widest;
}

Tensors autocast_inputs(const OpDef& op, std::span<const Tensor> in) {
  DType want = target(op, in);
  if (want == DType::None) return {};
  Tensors out;
  for (size_t i = 0; i < in.size(); ++i) {
    const Tensor& t = in[i];
    if (!t.defined() || t->wrapped || !is_floating(t.dtype()) || t.dtype() == DType::F64 || t.dtype() == want) continue;
    if (op.autocast() == Autocast::F32 && !is_reduced(t.dtype())) continue;
    if (out.empty()) out.assign(in.begin(), in.end());
    out[i] = to(t, want);
  }
  return out;
}

}  // namespace hw
