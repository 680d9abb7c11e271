// What a gradient rule sees. It is written with ops, so the same rule serves eager mode, graphs and second order.
#pragma once

#include "op/op_def.h"

namespace hw {

class GradCtx {
 public:
  GradCtx(const OpDef& op, const Attrs& attrs, std::span<const TensorSpec> in_specs,
          std::span<const TensorSpec> out_specs, std::span<const Tensor> in, std::span<const Tensor> out,
          std::span<const Tensor> dy, uint64_t needs)
      : op_(op),
        attrs_(attrs),
        in_specs_(in_specs),
        out_specs_(out_specs),
        in_(in),
        out_(out),
        dy_(dy),
        needs_(needs),
        dx_(in_specs.size()) {}

  const Tensor& in(size_t i) const;       // a saved input; undefined if it was optional and not given
  const Tensor& out(size_t i = 0) const;  // a saved output
  /// The gradient of output i; zeros if none arrived but another output's did (use has_dy to save the work).
  Tensor dy(size_t i = 0) const;
  bool has_dy(size_t i) const { return dy_[i].defined(); }
  bool needs(size_t i) const { return needs_ >> i & 1; }  // whether input i wants a gradient
  const TensorSpec& in_spec(size_t i) const { return in_specs_[i]; }
  const TensorSpec& out_spec(size_t i = 0) const { return out_specs_[i]; }
  size_t num_inputs() const { return in_specs_.size(); }
  const AttrValue& attr(std::string_view name) const;
  const Attrs& attrs() const { return attrs_; }
  /// Sets the gradient of input i: broadcast axes are summed away and the dtype becomes the input's.
  void dx(size_t i, Tensor gradient);
  Tensors take() { return std::move(dx_); }

 private:
  const OpDef& op_;
  const Attrs& attrs_;
  std::span<const TensorSpec> in_specs_, out_specs_;
  std::span<const Tensor> in_, out_, dy_;
  uint64_t needs_;
  Tensors dx_;
};

}  // namespace hw
