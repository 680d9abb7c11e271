// Building and reading declarations.
#include "op/op_def.h"

#include "base/error.h"

namespace hw {

const AttrValue& InferCtx::attr(std::string_view name) const {
  int i = op.attr_index(name);
  if (i < 0) bug("op ", op.name(), " has no attribute '", name, "'");
  return attrs[static_cast<size_t>(i)];
}

std::string dtype_set_text(DTypeSet set) {
  if (set == any_dtype) return "any dtype";
  if (set == floating) return "a floating dtype";
  if (set == inexact) return "a floating or complex dtype";
  if (set == integral) return "an integer dtype";
  if (set == (integral | boolean)) return "an integer dtype or bool";
  if (set == numeric) return "a numeric dtype (not bool)";
  if (set == real_types) return "a dtype that is not complex";
  if (set == index_types) return "i32 or i64";
  std::string out;
  for (int i = 0; i < kNumDTypes; ++i)
    if (set >> i & 1) append_text(out, text(out.empty() ? "" : ", ", static_cast<DType>(i)));
  return out;
}

OpDef::OpDef(std::string_view name) : name_(name) {}
OpDef::OpDef(const OpDef&) = default;
OpDef::~OpDef() = default;

OpDef& OpDef::doc(std::string_view s) { return doc_ = s, *this; }
OpDef& OpDef::example(std::string_view s) { return example_ = s, *this; }

OpDef& OpDef::in(std::string_view name, std::string_view doc, DTypeSet dtypes) {
  order_.push_back(static_cast<int>(inputs_.size()));
  inputs_.push_back({std::string(name), std::string(doc), dtypes});
  return *this;
}
OpDef& OpDef::in_optional(std::string_view name, std::string_view doc, DTypeSet dtypes) {
  in(name, doc, dtypes);
  inputs_.back().optional = true;
  return *this;
}
OpDef& OpDef::in_optional_list(std::string_view name, std::string_view doc, DTypeSet dtypes) {
  in_list(name, doc, dtypes);
  inputs_.back().optional = true;
  return *this;
}
OpDef& OpDef::in_list(std::string_view name, std::string_view doc, DTypeSet dtypes) {
  variadic_ = static_cast<int>(inputs_.size());
  in(name, doc, dtypes);
  inputs_.back().variadic = true;
  return *this;
}

AttrDef& OpDef::add_attr(std::string_view name, AttrValue::Kind kind, std::string_view doc) {
  order_.push_back(~static_cast<int>(attrs_.size()));
  AttrDef a;
  a.name = name;
  a.kind = kind;
  a.doc = doc;
  a.keyword_only = keyword_;
  attrs_.push_back(std::move(a));
  return attrs_.back();
}
OpDef& OpDef::attr(std::string_view name, const AttrValue& otherwise, std::string_view doc) {
  AttrDef& a = add_attr(name, otherwise.kind(), doc);
  a.otherwise = otherwise;
  return *this;
}
OpDef& OpDef::attr_required(std::string_view name, AttrValue::Kind kind, std::string_view doc) {
  add_attr(name, kind, doc).required = true;
  return *this;
}
OpDef& OpDef::attr_none(std::string_view name, AttrValue::Kind kind, std::string_view doc) {
  add_attr(name, kind, doc).nullable = true;
  return *this;
}
OpDef& OpDef::keyword() {
  keyword_ = true;
  attrs_.back().keyword_only = true;
  return *this;
}
OpDef& OpDef::varargs() { return attrs_.back().varargs = true, *this; }
OpDef& OpDef::or_text() { return attrs_.back().text_allowed = true, *this; }
OpDef& OpDef::dynamic() {
  dynamic_attrs_ = true;
  return attrs_.back().dynamic = true, *this;
}
OpDef& OpDef::out(std::string_view name, DTypeRule dtype, ShapeRule shape) {
  outputs_.push_back({std::string(name), dtype, shape});
  return *this;
}
OpDef& OpDef::out(std::string_view name) {
  outputs_.push_back({std::string(name), nullptr, nullptr});
  return *this;
}
OpDef& OpDef::infer(InferRule rule) { return infer_ = rule, *this; }
OpDef& OpDef::promote(Promote how) { return promote_ = how, *this; }
OpDef& OpDef::numbers(NumberRule rule) { return numbers_ = rule, *this; }
OpDef& OpDef::view(ViewRule rule) {
  kind_ = OpKind::View;
  view_ = rule;
  return *this;
}
OpDef& OpDef::composite(Composite body) {
  kind_ = OpKind::Composite;
  composite_ = body;
  return *this;
}
OpDef& OpDef::inplace() { return inplace_ = true, *this; }
OpDef& OpDef::random() {
  random_ = dynamic_attrs_ = true;
  for (const char* name : {"seed", "draw"}) {
    AttrDef& a = add_attr(name, AttrValue::Kind::Int, "");
    a.otherwise = int64_t{0};
    a.hidden = a.dynamic = a.keyword_only = true;
    order_.pop_back();
  }
  return *this;
}
OpDef& OpDef::autocast(Autocast how) { return autocast_ = how, *this; }
OpDef& OpDef::sbp(SbpRule rule) { return sbp_ = rule, *this; }
OpDef& OpDef::no_sbp(std::string_view reason) { return no_sbp_reason_ = reason, *this; }
OpDef& OpDef::flops(FlopsRule rule) { return flops_ = rule, *this; }

OpDef& OpDef::grad(std::string_view saved, GradRule rule) {
  grad_ = rule;
  saved_ = saved;
  return *this;
}
OpDef& OpDef::no_grad(std::string_view reason) { return no_grad_reason_ = reason, *this; }
OpDef& OpDef::onnx(std::string_view mapping) { return onnx_ = mapping, *this; }
OpDef& OpDef::no_onnx(std::string_view reason) { return no_onnx_reason_ = reason, *this; }
OpDef& OpDef::method(bool yes) { return method_ = yes, *this; }
OpDef& OpDef::internal() {
  internal_ = true;
  method_ = false;
  return *this;
}
OpDef& OpDef::file(std::string_view path) { return file_ = path, *this; }

int OpDef::attr_index(std::string_view name) const {
  for (size_t i = 0; i < attrs_.size(); ++i)
    if (attrs_[i].name == name) return static_cast<int>(i);
  return -1;
}

const InputDef& OpDef::input_def(size_t flat, size_t flat_count) const {
  if (variadic_ < 0) return inputs_[flat];
  size_t before = static_cast<size_t>(variadic_), list = flat_count - (inputs_.size() - 1);
  if (flat < before) return inputs_[flat];
  if (flat < before + list) return inputs_[before];
  return inputs_[flat - list + 1];
}

std::string OpDef::problems() const {
  std::string out;
  auto want = [&](bool ok, std::string_view what) {
    if (!ok) append_text(out, text(out.empty() ? "" : "; ", what));
  };
  want(!doc_.empty(), "no doc()");
  want(!outputs_.empty(), "no out()");
  want(composite_ || view_ || infer_ || (!outputs_.empty() && outputs_[0].dtype && outputs_[0].shape), "no shape rule");
  want(composite_ || sbp_ || !no_sbp_reason_.empty(), "neither sbp() nor no_sbp(reason)");
  want(composite_ || grad_ || !no_grad_reason_.empty(), "neither grad() nor no_grad(reason)");
  want(composite_ || !onnx_.empty() || !no_onnx_reason_.empty(), "neither onnx() nor no_onnx(reason)");
  want(inputs_.size() <= 32, "more than 32 inputs");
  return out;
}

}  // namespace hw
