// Dtype and shape rules, inference and text of calls.
#include "op/rules.h"

#include "base/error.h"
#include "op/number_rule.h"

namespace hw {

static DType combine(DType high, DType low) {
  if (high == DType::None) return low;
  if (low == DType::None) return high;
  if (is_complex(high)) return high;
  if (is_floating(high)) return is_complex(low) ? complex_dtype(high) : high;
  if (high == DType::Bool || is_inexact(low)) return promote(high, low);
  return high;
}

DType result_type(std::span<const TensorSpec> specs) {
  DType with_axes = DType::None, zero_dim = DType::None, number = DType::None;
  for (const TensorSpec& s : specs) {
    if (!s.given()) continue;
    DType& slot = s.wrapped ? number : s.shape.empty() ? zero_dim : with_axes;
    DType d = s.dtype;
    if (s.wrapped && is_floating(d)) d = default_dtype();
    if (s.wrapped && is_complex(d)) d = complex_dtype(default_dtype());
    slot = promote(slot, d);
  }
  return combine(combine(with_axes, zero_dim), number);
}

DType compute_dtype(const OpDef& op, std::span<const TensorSpec> in) {
  if (op.promotion() == Promote::No) return DType::None;
  DType d = result_type(in);
  if (op.promotion() == Promote::Floating && d != DType::None && !is_inexact(d)) return default_dtype();
  return d;
}

namespace dtype {
DType same(const InferCtx& c) { return c.in[0].dtype; }
DType promoted(const InferCtx& c) { return c.compute; }
DType boolean(const InferCtx&) { return DType::Bool; }
DType int64(const InferCtx&) { return DType::I64; }
DType real(const InferCtx& c) { return real_dtype(c.compute != DType::None ? c.compute : c.in[0].dtype); }
DType accumulated(const InferCtx& c) {
  const AttrValue& given = c.attr("dtype");
  if (!given.none()) return given.dtype();
  DType d = c.in[0].dtype;
  return is_inexact(d) ? d : DType::I64;
}
DType given_or_default(const InferCtx& c) {
  const AttrValue& given = c.attr("dtype");
  return given.none() ? default_dtype() : given.dtype();
}
DType given_or_same(const InferCtx& c) {
  const AttrValue& given = c.attr("dtype");
  return given.none() ? c.in[0].dtype : given.dtype();
}
}  // namespace dtype

namespace shape {
Dims same(const InferCtx& c) { return c.in[0].shape; }
Dims broadcast(const InferCtx& c) {
  Dims out;
  bool first = true;
  for (const TensorSpec& s : c.in) {
    if (!s.given()) continue;
    if (first || s.shape == out)
      out = s.shape;
    else
      out = broadcast_shapes(out, s.shape);
    first = false;
  }
  return out;
}
Dims scalar(const InferCtx&) { return {}; }
Dims size(const InferCtx& c) {
  const Dims& s = c.attr("size").ints();
  for (int64_t n : s) check_runtime(n >= 0, "a size cannot be negative, got ", s);
  return s;
}
Dims reduced(const InferCtx& c) {
  const AttrValue& dim = c.attr("dim");
  Dims given = dim.kind() == AttrValue::Kind::Int ? Dims{dim.i64()} : dim.none() ? Dims{} : dim.ints();
  return reduced_shape(c.in[0].shape, normalize_axes(given, c.in[0].ndim()), c.attr("keepdim").truth());
}
}  // namespace shape

void check_inputs(const InferCtx& c) {
  size_t n = c.in.size();
  for (size_t i = 0; i < n; ++i) {
    const InputDef& def = c.op.input_def(i, n);
    const TensorSpec& s = c.in[i];
    if (!s.given()) {
      check_type(def.optional, "input '", def.name, "' is required");
      continue;
    }
    DType d = s.dtype;
    // What promotes is converted before it is used: the common dtype has to fit, not each input's own.
    if (c.compute != DType::None && def.dtypes >> static_cast<int>(c.compute) & 1) continue;
    check_type(def.dtypes >> static_cast<int>(d) & 1, "'", def.name, "' must have ", dtype_set_text(def.dtypes),
               ", got ", d, ". Convert it with .to().");
  }
}

std::vector<TensorSpec> infer_outputs(const InferCtx& c) {
  check_inputs(c);
  check_number_attrs(c);
  if (c.op.infer_rule()) {
    std::vector<TensorSpec> out = c.op.infer_rule()(c);
    for (TensorSpec& s : out)
      if (s.strides.size() != s.shape.size()) s.strides = contiguous_strides(s.shape);
    return out;
  }
  std::vector<TensorSpec> out;
  if (c.op.kind() == OpKind::View) {
    View v = c.op.view_rule()(c.in[0], c.attrs);
    DType d = c.op.outputs()[0].dtype ? c.op.outputs()[0].dtype(c) : c.in[0].dtype;
    out.push_back({d, false, c.in[0].device, std::move(v.shape), std::move(v.strides)});
    return out;
  }
  for (const OutputDef& o : c.op.outputs()) {
    if (!o.shape || !o.dtype) bug("op ", c.op.name(), " has no shape rule for output ", o.name);
    TensorSpec s;
    s.shape = o.shape(c);
    s.dtype = o.dtype(c);
    s.strides = contiguous_strides(s.shape);
    out.push_back(std::move(s));
  }
  return out;
}

std::string call_text(const OpDef& op, std::span<const TensorSpec> in, const Attrs& attrs) {
  std::string out = op.name() + "(";
  const char* comma = "";
  for (size_t i = 0; i < in.size(); ++i) {
    const InputDef& def = op.input_def(i, in.size());
    if (!in[i].given() && def.optional) continue;
    append_text(out, text(comma, def.name));
    if (def.variadic) append_text(out, text('[', static_cast<int64_t>(i) - op.variadic_index(), ']'));
    append_text(out, text("=", in[i]));
    comma = ", ";
  }
  for (size_t i = 0; i < attrs.size() && i < op.attrs().size(); ++i) {
    const AttrDef& def = op.attrs()[i];
    if (def.hidden || attrs[i] == def.otherwise) continue;
    append_text(out, text(comma, def.name, "=", attrs[i]));
    comma = ", ";
  }
  return out + ")";
}

std::string signature_text(const OpDef& op) {
  std::string out = op.name() + "(";
  const char* comma = "";
  bool star = false;
  for (int at : op.order()) {
    if (at >= 0) {
      const InputDef& def = op.inputs()[static_cast<size_t>(at)];
      append_text(out, text(comma, def.name, def.optional ? "=None" : ""));
    } else {
      const AttrDef& def = op.attrs()[static_cast<size_t>(~at)];
      if (def.hidden) continue;
      if (def.keyword_only && !star) {
        append_text(out, text(comma, "*"));
        star = true;
        comma = ", ";
      }
      append_text(out, text(comma, def.name));
      if (!def.required) append_text(out, text("=", def.otherwise));
    }
    comma = ", ";
  }
  return out + ")";
}

}  // namespace hw
