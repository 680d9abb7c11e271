// Graph to text.
#include <charconv>
#include <cmath>
#include <cstring>

#include "base/text.h"
#include "ir/elements.h"
#include "ir/same_graph.h"
#include "ir/text.h"

namespace hw {

AttrValue::Kind fitted_kind(AttrValue::Kind written, AttrValue::Kind declared) {
  using K = AttrValue::Kind;
  bool number = written == K::Bool || written == K::Int || written == K::Float;
  if (number && declared == K::Scalar) return K::Scalar;
  if (written == K::Int && declared == K::Float) return K::Float;
  if (written == K::Ints && declared == K::Floats) return K::Floats;
  return written;
}

std::string constant_digest(const Tensor& t) {
  uint64_t h = 0xcbf29ce484222325ull;
  auto mix = [&h](uint64_t v) {
    h = (h ^ v) * 0x9e3779b97f4a7c15ull;
    h ^= h >> 29;
  };
  mix(static_cast<uint64_t>(t.dtype()));
  mix(t.shape().size());
  for (int64_t n : t.shape()) mix(static_cast<uint64_t>(n));
  const int64_t size = dtype_size(t.dtype());
  for_each_element(t, [&](const void* p) {
    uint64_t word[2] = {0, 0};
    std::memcpy(word, p, static_cast<size_t>(size));
    mix(word[0]);
    if (size > 8) mix(word[1]);
  });
  std::string out(16, '0');
  for (size_t i = 0; i < 16; ++i) out[i] = "0123456789abcdef"[h >> (60 - 4 * i) & 15];
  return out;
}

namespace {

bool word_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

void append_quoted(std::string& out, std::string_view s) {
  out.push_back('"');
  for (char c : s) {
    unsigned char byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out.push_back('\\');
      out.push_back(c);
    } else if (c == '\n') {
      out.append("\\n");
    } else if (byte < 0x20 || byte == 0x7f) {
      out.append("\\x");
      out.push_back("0123456789abcdef"[byte >> 4]);
      out.push_back("0123456789abcdef"[byte & 15]);
    } else {
      out.push_back(c);
    }
  }
  out.push_back('"');
}

void append_name(std::string& out, std::string_view name) {
  bool plain = !name.empty();
  for (char c : name) plain = plain && word_char(c);
  if (plain) return out.append(name), void();
  append_quoted(out, name);
}

/// With a point or an exponent, so that it does not read back as an integer.
template <class T>
void append_float(std::string& out, T v) {
  char buffer[40];
  if (std::isnan(v)) return out.append("nan"), void();
  std::string_view s(buffer, static_cast<size_t>(std::to_chars(buffer, buffer + sizeof buffer, v).ptr - buffer));
  out.append(s);
  if (s.find_first_of(".en") == std::string_view::npos) out.append(".0");
}

template <class T>
void append_complex(std::string& out, T re, T im) {
  out.push_back('(');
  append_float(out, re);
  if (std::isnan(im) || !std::signbit(im)) out.push_back('+');
  append_float(out, im);
  out.append("j)");
}

void append_scalar(std::string& out, const Scalar& s) {
  switch (s.kind()) {
    case Scalar::Kind::Bool: return append_text(out, s.truth());
    case Scalar::Kind::Int: return append_text(out, s.i64());
    case Scalar::Kind::Float: return append_float(out, s.f64());
    case Scalar::Kind::Complex: return append_complex(out, s.c128().real(), s.c128().imag());
  }
}

void append_element(std::string& out, const void* p, DType dtype) {
  Scalar s = load_scalar(p, dtype);
  switch (dtype) {
    case DType::F16:
    case DType::BF16:
    case DType::F32: return append_float(out, static_cast<float>(s.f64()));
    case DType::C64:
      return append_complex(out, static_cast<float>(s.c128().real()), static_cast<float>(s.c128().imag()));
    default: return append_scalar(out, s);
  }
}

template <class List, class F>
void append_list(std::string& out, const List& list, F&& item, const char* brackets = "[]") {
  out.push_back(brackets[0]);
  for (size_t i = 0; i < list.size(); ++i) {
    if (i) out.append(", ");
    item(out, list[i]);
  }
  out.push_back(brackets[1]);
}

/// The kind that the parser sees in the text of a value.
AttrValue::Kind written_kind(const AttrValue& v) {
  using K = AttrValue::Kind;
  if (v.kind() == K::Floats && v.floats().empty()) return K::Ints;
  if (v.kind() != K::Scalar) return v.kind();
  switch (v.scalar().kind()) {
    case Scalar::Kind::Bool: return K::Bool;
    case Scalar::Kind::Int: return K::Int;
    case Scalar::Kind::Float: return K::Float;
    case Scalar::Kind::Complex: break;
  }
  return K::Scalar;
}

void append_plain(std::string& out, const AttrValue& v) {
  auto item_float = [](std::string& o, double x) { append_float(o, x); };
  switch (v.kind()) {
    case AttrValue::Kind::None: return out.append("None"), void();
    case AttrValue::Kind::Bool:
    case AttrValue::Kind::Int:
    case AttrValue::Kind::Float:
    case AttrValue::Kind::Scalar: return append_scalar(out, v.scalar());
    case AttrValue::Kind::Text: return append_quoted(out, v.text());
    case AttrValue::Kind::Ints: return append_list(out, v.ints(), append_signed);
    case AttrValue::Kind::Floats: return append_list(out, v.floats(), item_float);
    case AttrValue::Kind::DType: return append_text(out, v.dtype());
  }
}

/// With the kind around it where the declared one would make something else of it.
void append_attr(std::string& out, const AttrValue& v, AttrValue::Kind declared) {
  static constexpr const char* kKinds[] = {"none", "bool", "int", "float", "scalar", "text", "ints", "floats", "dtype"};
  if (fitted_kind(written_kind(v), declared) == v.kind()) return append_plain(out, v);
  out.append(kKinds[static_cast<size_t>(v.kind())]);
  out.push_back('(');
  append_plain(out, v);
  out.push_back(')');
}

void append_spec(std::string& out, const TensorSpec& spec) {
  append_text(out, spec.dtype);
  append_list(out, spec.shape, append_signed);
  if (spec.strides.size() != spec.shape.size() || spec.strides != contiguous_strides(spec.shape))
    append_list(out, spec.strides, append_signed, "{}");
  if (spec.wrapped) out.append(" number");
  if (spec.device != Device{})
    append_text(out, text(" on ", device_type_name(spec.device.type), ":", spec.device.index));
}

class Printer {
 public:
  Printer(const Graph& graph, const OpVocabulary& words, const PrintOptions& options, bool renumber, int depth = 0)
      : g_(graph),
        words_(words),
        options_(options),
        renumber_(renumber),
        depth_(depth),
        numbers_(graph.values.size(), kNone) {}

  std::string graph() {
    indent();
    out_.append("graph ");
    append_name(out_, g_.name);
    if (g_.num_draws) append_text(out_, text(" draws=", g_.num_draws));
    if (g_.num_host) append_text(out_, text(" host=", g_.num_host));
    out_.push_back('\n');
    for (const GraphSource& s : g_.sources) source(s);
    for (NodeId n : g_.order) {
      indent();
      node(n);
      out_.push_back('\n');
      bodies(n);
    }
    for (const GraphResult& r : g_.results) result(r);
    return std::move(out_);
  }

  std::string line(NodeId n) {
    node(n);
    return std::move(out_);
  }

 private:
  bool known(ValueId v) const { return v >= 0 && static_cast<size_t>(v) < g_.values.size(); }

  void value(ValueId v) {
    if (v == kNone) return out_.append("None"), void();
    if (!known(v)) return append_text(out_, text("%?", v));
    int32_t& number = numbers_[static_cast<size_t>(v)];
    if (number == kNone) number = next_++;
    append_text(out_, text("%", renumber_ ? number : v));
  }

  void defined(ValueId v, std::string_view name) {
    value(v);
    if (!name.empty()) {
      out_.push_back(' ');
      append_name(out_, name);
    }
    out_.append(": ");
    append_spec(out_, known(v) ? g_.spec(v) : TensorSpec{});
  }

  void source(const GraphSource& s) {
    static constexpr const char* kKinds[] = {"input ", "state ", "const "};
    indent();
    out_.append(kKinds[static_cast<size_t>(s.kind)]);
    defined(s.value, s.name);
    if (s.kind == GraphSource::Kind::Constant && s.tensor.defined()) constant(s.tensor);
    out_.push_back('\n');
  }

  void constant(const Tensor& t) {
    out_.append(" = ");
    if (options_.most_elements >= 0 && t.numel() > options_.most_elements)
      return append_text(out_, text("#", constant_digest(t), "..."));
    if (t.shape().empty()) return append_element(out_, t.data(), t.dtype());
    const char* comma = "[";
    for_each_element(t, [&](const void* p) {
      out_.append(comma);
      append_element(out_, p, t.dtype());
      comma = ", ";
    });
    out_.append(t.numel() ? "]" : "[]");
  }

  void node(NodeId n) {
    if (n < 0 || static_cast<size_t>(n) >= g_.nodes.size()) return append_text(out_, text("# no node ", n));
    const Node& node = g_.node(n);
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (i) out_.append(", ");
      defined(node.outputs[i], "");
    }
    out_.append(node.outputs.empty() ? "= " : " = ");
    append_name(out_, node.op);
    out_.push_back('(');
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (i) out_.append(", ");
      value(node.inputs[i]);
    }
    out_.push_back(')');
    attrs(node);
    if (options_.origins && node.origin > 0 && static_cast<size_t>(node.origin) < g_.origins.size()) {
      out_.append(" @ ");
      append_quoted(out_, g_.origins[static_cast<size_t>(node.origin)]);
    }
    if (!node.bodies.empty()) out_.append(" with");
  }

  /// The graphs inside a node, further to the right.
  void bodies(NodeId n) {
    if (n < 0 || static_cast<size_t>(n) >= g_.nodes.size() || g_.node(n).bodies.empty()) return;
    for (const auto& body : g_.node(n).bodies)
      if (body) out_.append(Printer(*body, words_, options_, renumber_, depth_ + 1).graph());
    indent();
    out_.append("end\n");
  }

  void indent() { out_.append(static_cast<size_t>(2 * depth_), ' '); }

  void attrs(const Node& node) {
    const char* comma = " {";
    for (size_t i = 0; i < node.attrs.size(); ++i) {
      OpVocabulary::AttrWord word;
      const bool named = words_.attr(node.op, i, word);
      const AttrBinding* bound = nullptr;
      for (const AttrBinding& b : node.bindings)
        if (static_cast<size_t>(b.attr) == i) bound = &b;
      const bool usual = named && word.otherwise && same_attr(*word.otherwise, node.attrs[i]);
      if (usual && !bound) continue;
      out_.append(comma);
      comma = ", ";
      named ? out_.append(word.name), void() : append_text(out_, text("#", i));
      out_.push_back('=');
      if (!usual) {
        append_attr(out_, node.attrs[i], word.kind);
        if (bound) out_.push_back(' ');
      }
      if (bound) binding(*bound);
    }
    if (comma[0] == ',') out_.push_back('}');
  }

  void binding(const AttrBinding& b) {
    switch (b.kind) {
      case AttrBinding::Kind::Seed: return out_.append("!seed"), void();
      case AttrBinding::Kind::Draw: return append_text(out_, text("!draw", b.index));
      case AttrBinding::Kind::Host: return append_text(out_, text("!host", b.index));
    }
  }

  void result(const GraphResult& r) {
    static constexpr const char* kKinds[] = {"output ", "update ", "gradient "};
    indent();
    out_.append(kKinds[static_cast<size_t>(r.kind)]);
    if (r.kind == GraphResult::Kind::Output) {
      value(r.value);
      if (r.source != kNone) append_text(out_, text(" memory ", r.source));
    } else {
      bool there = r.source >= 0 && static_cast<size_t>(r.source) < g_.sources.size();
      value(there ? g_.sources[static_cast<size_t>(r.source)].value : kNone);
      out_.append(" <- ");
      value(r.value);
    }
    out_.push_back('\n');
  }

  const Graph& g_;
  const OpVocabulary& words_;
  const PrintOptions& options_;
  const bool renumber_;
  const int depth_;
  std::vector<int32_t> numbers_;
  int32_t next_ = 0;
  std::string out_;
};

}  // namespace

std::string print_graph(const Graph& graph, const OpVocabulary& words, const PrintOptions& options) {
  return Printer(graph, words, options, true).graph();
}

std::string node_text(const Graph& graph, NodeId node, const OpVocabulary& words) {
  return Printer(graph, words, {}, false).line(node);
}

}  // namespace hw
