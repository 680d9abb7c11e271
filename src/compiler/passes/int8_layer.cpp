// Reading layers between dequantised operands.
#include "compiler/passes/int8_layer.h"

#include "compiler/add_call.h"

namespace hw {

std::optional<Int8Layer> Int8Layers::read(ValueId x_value, ValueId w_value) const {
  const Node* x = r_.made_by(x_value, "dequantize_linear");
  const Node* w = r_.made_by(w_value, "dequantize_linear");
  if (!x || !w) return std::nullopt;
  const Int8Layer layer{x->inputs[0], x->inputs[1], x->inputs[2], w->inputs[0], w->inputs[1], w_value};
  const TensorSpec &q = g_.spec(layer.q), &weight = g_.spec(layer.weight);
  const bool types = (q.dtype == DType::U8 || q.dtype == DType::I8) && weight.dtype == DType::I8 &&
                     is_f32(layer.scale) && is_f32(layer.weight_scale) &&
                     (layer.zero == kNone || g_.spec(layer.zero).dtype == q.dtype);
  const bool still = steady(layer.scale) && steady(layer.weight) && steady(layer.weight_scale) && !steady(layer.q) &&
                     (layer.zero == kNone || steady(layer.zero));
  if (!types || !still || !x->attrs[0].none() || !one_number(layer.scale) || !one_number(layer.zero))
    return std::nullopt;
  if (w->inputs[2] != kNone) return std::nullopt;
  const bool by_row = !w->attrs[0].none();
  if (by_row ? w->attrs[0].i64() != 0 && w->attrs[0].i64() != -weight.ndim() : !one_number(layer.weight_scale))
    return std::nullopt;
  return layer;
}

bool Int8Layers::quantizes(NodeId n) const {
  const Node& node = g_.node(n);
  const TensorSpec& y = g_.spec(node.outputs[0]);
  const bool is_signed = y.dtype == DType::I8;
  const auto is = [](const AttrValue& a, int64_t value) { return a.none() || a.i64() == value; };
  const ValueId zero = node.inputs[2];
  return (is_signed || y.dtype == DType::U8) && node.attrs[0].none() && is(node.attrs[2], is_signed ? -128 : 0) &&
         is(node.attrs[3], is_signed ? 127 : 255) && one_number(node.inputs[1]) && is_f32(node.inputs[1]) &&
         steady(node.inputs[1]) && one_number(zero) &&
         (zero == kNone ? !is_signed : g_.spec(zero).dtype == y.dtype && steady(zero));
}

ValueId int8_product_scale(Rewriter& r, NodeId at, const Int8Layer& l) {
  const Dims rows{r.graph().spec(l.weight).shape[0]};
  ValueId both = add_call(r, at, "mul", {l.weight_scale, l.scale}, {});
  if (r.graph().spec(both).shape != rows) both = add_call(r, at, "expand", {both}, {rows, false});
  return r.graph().spec(both).contiguous() ? both : add_call(r, at, "clone", {both}, {});
}

}  // namespace hw
