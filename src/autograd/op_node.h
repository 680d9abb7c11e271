// A recorded call of an op.
#pragma once

#include "autograd/node.h"

namespace hw {

/// A tensor kept for the backward pass, with the version it had.
class SavedTensor {
 public:
  SavedTensor() = default;
  /// `is_output`: kept without its history, which would be a cycle; unpack puts it back.
  SavedTensor(const Tensor& t, bool is_output) : tensor_(is_output ? t.alias() : t), version_(t.version()) {}
  bool defined() const { return tensor_.defined(); }
  const Tensor& get(std::string_view op, std::string_view what) const;  // throws if it was written to since
  void reset() { tensor_ = Tensor(); }

 private:
  Tensor tensor_;
  uint32_t version_ = 0;
};

class OpNode final : public GradNode {
 public:
  OpNode(const OpDef& op, std::span<const Tensor> in, const Attrs& attrs);
  void save(std::span<const Tensor> in, std::span<const Tensor> out);
  std::string_view name() const override { return op_.name(); }
  Tensors apply(std::span<const Tensor> dy, bool keep) override;
  void release_saved() override;
  bool released() const override { return released_; }

 private:
  Tensors unpack_inputs() const;
  Tensors unpack_outputs();

  const OpDef& op_;
  const Attrs& attrs() const { return own_attrs_.empty() ? op_.default_attrs() : own_attrs_; }

  Attrs own_attrs_;  // empty: the op's defaults
  std::vector<TensorSpec> in_specs_, out_specs_;
  std::vector<SavedTensor> saved_in_, saved_out_;
  bool released_ = false;
};

}  // namespace hw
