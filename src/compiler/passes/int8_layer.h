// What a linear layer or a convolution between dequantised operands reads, when it can be computed in integers.
#pragma once

#include <optional>
#include <vector>

#include "ir/rewrite.h"

namespace hw {

/// op(dequantize_linear(q, scale, zero), dequantize_linear(weight, weight_scale), ...): q bytes with one step, weight int8 without a zero
/// point and with one scale, or one for each index of its first axis. All but q depend on state alone.
struct Int8Layer {
  ValueId q = kNone, scale = kNone, zero = kNone;
  ValueId weight = kNone, weight_scale = kNone, floats = kNone;  // floats: the dequantised weight
};

/// Questions to one graph; `steady` is steady_values() of it.
class Int8Layers {
 public:
  Int8Layers(const Graph& graph, const Rewriter& rewriter, const std::vector<bool>& steady)
      : g_(graph), r_(rewriter), steady_(steady) {}

  std::optional<Int8Layer> read(ValueId x, ValueId w) const;
  /// Whether it is quantize_linear over the whole range of bytes by one steady step.
  bool quantizes(NodeId n) const;
  bool one_number(ValueId v) const { return v == kNone || (g_.spec(v).numel() == 1 && g_.spec(v).ndim() <= 1); }
  bool steady(ValueId v) const { return static_cast<size_t>(v) < steady_.size() && steady_[static_cast<size_t>(v)]; }

 private:
  bool is_f32(ValueId v) const { return g_.spec(v).dtype == DType::F32; }
  const Graph& g_;
  const Rewriter& r_;
  const std::vector<bool>& steady_;
};

/// One scale for each row of the weight, times the input's.
ValueId int8_product_scale(Rewriter& r, NodeId at, const Int8Layer& layer);

}  // namespace hw
