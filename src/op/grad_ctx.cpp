// Gradient rules' view of a call.
#include "op/grad_ctx.h"

#include "base/error.h"
#include "op/math.h"

namespace hw {

const Tensor& GradCtx::in(size_t i) const {
  if (!op_.saves_input(i))
    bug("the gradient of ", op_.name(), " reads input ", static_cast<int64_t>(i), ", which is not saved");
  return in_[i];
}

const Tensor& GradCtx::out(size_t i) const {
  if (!op_.saves_output(i))
    bug("the gradient of ", op_.name(), " reads output ", static_cast<int64_t>(i), ", which is not saved");
  return out_[i];
}

Tensor GradCtx::dy(size_t i) const {
  if (dy_[i].defined()) return dy_[i];
  return zeros(out_specs_[i].shape, out_specs_[i].dtype);
}

const AttrValue& GradCtx::attr(std::string_view name) const {
  int i = op_.attr_index(name);
  if (i < 0) bug("op ", op_.name(), " has no attribute '", name, "'");
  return attrs_[static_cast<size_t>(i)];
}

void GradCtx::dx(size_t i, Tensor gradient) {
  if (!needs(i) || !gradient.defined()) return;
  const TensorSpec& want = in_specs_[i];
  if (is_complex(gradient.dtype()) && !is_complex(want.dtype)) gradient = real(gradient);
  if (gradient.shape() != want.shape) gradient = sum_to(gradient, want.shape);
  if (gradient.dtype() != want.dtype) gradient = to(gradient, want.dtype);
  dx_[i] = std::move(gradient);
}

}  // namespace hw
