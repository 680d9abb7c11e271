// Attribute values, specs and constants out of graph text.
#include "ir/literal.h"

#include <array>

#include "ir/elements.h"
#include "ir/text.h"

namespace hw {

namespace {

/// A bool, an integer, a float, or "(re+imj)".
Scalar read_scalar(Cursor& c) {
  if (c.take_word("True")) return true;
  if (c.take_word("False")) return false;
  bool whole;
  if (!c.take("(")) {
    std::string_view s = c.number(whole);
    return whole ? Scalar(c.to_int(s)) : Scalar(c.to_double(s));
  }
  double re = c.to_double(c.number(whole));
  if (c.peek() != '+' && c.peek() != '-') c.error(text("expected '+' or '-', found ", c.found()));
  double im = c.to_double(c.number(whole));
  c.expect("j)");
  return std::complex<double>(re, im);
}

AttrValue read_list(Cursor& c) {
  Dims ints;
  std::vector<double> floats;
  bool all_whole = true;
  c.expect("[");
  while (c.peek() != ']') {
    if (!floats.empty()) c.expect(",");
    bool whole;
    std::string_view s = c.number(whole);
    all_whole = all_whole && whole;
    if (all_whole) ints.push_back(c.to_int(s));
    floats.push_back(c.to_double(s));
  }
  c.expect("]");
  return all_whole ? AttrValue(std::move(ints)) : AttrValue(std::move(floats));
}

AttrValue as_kind(Cursor& c, size_t mark, const AttrValue& v, AttrValue::Kind kind) {
  using K = AttrValue::Kind;
  if (v.kind() == kind) return v;
  const bool number = v.kind() == K::Bool || v.kind() == K::Int || v.kind() == K::Float;
  if (kind == K::Scalar && number) return v.scalar();
  if (kind == K::Float && v.kind() == K::Int) return v.f64();
  if (kind == K::Floats && v.kind() == K::Ints) {
    std::vector<double> floats;
    for (int64_t n : v.ints()) floats.push_back(static_cast<double>(n));
    return floats;
  }
  c.error_at(mark, text("the value ", v, " is of another kind than the word in front of it says"));
}

AttrValue read_plain(Cursor& c) {
  const char next = c.peek();
  if (next == '"') return c.quoted();
  if (next == '[') return read_list(c);
  if (c.take_word("None")) return {};
  if (c.take_word("True")) return true;
  if (c.take_word("False")) return false;
  if (next >= 'a' && next <= 'z') {
    const size_t mark = c.mark();
    std::string_view word = c.word("a value");
    DType d = dtype_from_name(word);
    if (d != DType::None || word == "none") return d;
    if (word != "inf" && word != "nan") c.error_at(mark, text("'", word, "' is no value of an attribute"));
    c.back_to(mark);
  }
  Scalar s = read_scalar(c);
  if (s.kind() == Scalar::Kind::Complex) return s;
  return s.kind() == Scalar::Kind::Int ? AttrValue(s.i64()) : AttrValue(s.f64());
}

Dims read_dims(Cursor& c, std::string_view open, std::string_view close, bool sizes) {
  Dims out;
  c.expect(open);
  while (!c.take(close)) {
    if (!out.empty()) c.expect(",");
    const size_t mark = c.mark();
    out.push_back(c.integer(sizes ? "a size" : "a stride"));
    if (sizes && out.back() < 0) c.error_at(mark, "a size cannot be negative");
    if (static_cast<int64_t>(out.size()) > kMaxDims) c.error_at(mark, text("more than ", kMaxDims, " axes"));
  }
  return out;
}

Device read_device(Cursor& c) {
  const size_t mark = c.mark();
  std::string_view word = c.word("a device");
  Device d;
  bool known = false;
  for (DeviceType type : {DeviceType::CPU, DeviceType::CUDA, DeviceType::Null}) {
    if (device_type_name(type) != word) continue;
    d.type = type;
    known = true;
  }
  if (!known) c.error_at(mark, text("there is no device '", word, "'"));
  c.expect(":");
  int64_t index = c.integer("a device number");
  if (index < 0 || index > 127) c.error_at(mark, text("device number ", index, " is out of range"));
  d.index = static_cast<int8_t>(index);
  return d;
}

}  // namespace

AttrValue read_attr(Cursor& c, AttrValue::Kind declared) {
  static constexpr std::array<std::string_view, 9> kKinds = {"none(", "bool(", "int(",    "float(", "scalar(",
                                                             "text(", "ints(", "floats(", "dtype("};
  const size_t mark = c.mark();
  for (size_t k = 0; k < kKinds.size(); ++k) {
    if (!c.take(kKinds[k])) continue;
    AttrValue v = read_plain(c);
    c.expect(")");
    return as_kind(c, mark, v, static_cast<AttrValue::Kind>(k));
  }
  AttrValue v = read_plain(c);
  return as_kind(c, mark, v, fitted_kind(v.kind(), declared));
}

TensorSpec read_spec(Cursor& c) {
  TensorSpec spec;
  const size_t mark = c.mark();
  std::string_view word = c.word("a dtype");
  spec.dtype = dtype_from_name(word);
  if (spec.dtype == DType::None) c.error_at(mark, text("there is no dtype '", word, "'"));
  spec.shape = read_dims(c, "[", "]", true);
  try {
    int64_t bytes;
    check(!__builtin_mul_overflow(numel(spec.shape), dtype_size(spec.dtype), &bytes), "too many bytes");
    spec.strides = contiguous_strides(spec.shape);
  } catch (const Error& e) {
    c.error_at(mark, text("shape ", spec.shape, ": ", e.message()));
  }
  if (c.peek() == '{') {
    spec.strides = read_dims(c, "{", "}", false);
    if (spec.strides.size() != spec.shape.size())
      c.error_at(mark, text("strides ", spec.strides, " for the shape ", spec.shape));
  }
  spec.wrapped = c.take_word("number");
  if (c.take_word("on")) spec.device = read_device(c);
  return spec;
}

/// One element of a constant, rounded once to its dtype.
static Scalar read_element(Cursor& c, DType dtype) {
  const size_t mark = c.mark();
  if (dtype == DType::F32 || is_reduced(dtype)) {
    bool whole;
    return static_cast<double>(c.to_float(c.number(whole)));
  }
  if (dtype == DType::C64 && c.take("(")) {
    bool whole;
    float re = c.to_float(c.number(whole));
    if (c.peek() != '+' && c.peek() != '-') c.error(text("expected '+' or '-', found ", c.found()));
    float im = c.to_float(c.number(whole));
    c.expect("j)");
    return std::complex<double>(re, im);
  }
  Scalar s = read_scalar(c);
  if (!can_cast(s.dtype(), dtype)) c.error_at(mark, text("the element ", s, " is no ", dtype));
  if (is_integral(dtype)) {
    int64_t stored = 0;
    store_scalar(&stored, dtype, s);
    if (load_scalar(&stored, dtype).i64() != s.i64())
      c.error_at(mark, text("the element ", s, " is out of the range of ", dtype));
  }
  return s;
}

Tensor read_elements(Cursor& c, const TensorSpec& spec) {
  const size_t mark = c.mark();
  std::vector<Scalar> elements;
  if (spec.shape.empty()) {
    elements.push_back(read_element(c, spec.dtype));
  } else {
    c.expect("[");
    while (!c.take("]")) {
      if (!elements.empty()) c.expect(",");
      elements.push_back(read_element(c, spec.dtype));
    }
  }
  if (static_cast<int64_t>(elements.size()) != spec.numel())
    c.error_at(mark, text("there are ", elements.size(), " elements for the shape ", spec.shape));
  Tensor t;
  try {
    t = Tensor::empty_strided(spec.shape, spec.strides, spec.dtype);
  } catch (const Error& e) {
    c.error_at(mark, e.message());
  }
  t->wrapped = spec.wrapped;
  size_t i = 0;
  for_each_element(t, [&](void* p) { store_scalar(p, spec.dtype, elements[i++]); });
  return t;
}

}  // namespace hw
