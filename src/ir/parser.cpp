// Text to graph.
#include <algorithm>
#include <memory>
#include <unordered_map>

#include "ir/elements.h"
#include "ir/literal.h"
#include "ir/text.h"

namespace hw {

namespace {

class Parser {
 public:
  Parser(Cursor& cursor, const OpVocabulary& words, const ParseOptions& options, int depth = 0)
      : c_(cursor), words_(words), options_(options), depth_(depth) {}

  Graph whole() {
    if (!c_.at_end() && c_.take_word("graph")) header();
    while (!c_.at_end()) {
      line();
      c_.expect_line_end();
    }
    return std::move(g_);
  }

 private:
  /// Up to the next body or the end of the bodies; the word "graph" is read already.
  Graph body() {
    header();
    while (!c_.at_end() && !at_word("graph") && !at_word("end")) {
      line();
      c_.expect_line_end();
    }
    return std::move(g_);
  }

  bool at_word(std::string_view word) {
    const size_t mark = c_.mark();
    const bool there = c_.take_word(word);
    c_.back_to(mark);
    return there;
  }

  void header() {
    has_header_ = true;
    g_.name = c_.name("the graph's name");
    if (c_.take_word("draws")) c_.expect("="), g_.num_draws = c_.index("the number of draws");
    if (c_.take_word("host")) c_.expect("="), g_.num_host = c_.index("the number of host numbers");
    c_.expect_line_end();
  }

  void line() {
    if (c_.take_word("input")) return source(GraphSource::Kind::Input);
    if (c_.take_word("state")) return source(GraphSource::Kind::State);
    if (c_.take_word("const")) return source(GraphSource::Kind::Constant);
    if (c_.take_word("output")) return output();
    if (c_.take_word("update")) return result(GraphResult::Kind::Update);
    if (c_.take_word("gradient")) return result(GraphResult::Kind::Gradient);
    if (c_.peek() == '%' || c_.peek() == '=') return node();
    c_.error(text("expected input, state, const, output, update, gradient or a value such as %0, found ", c_.found()));
  }

  // ---------------------------------------------------------------- values
  struct Defined {
    size_t mark;
    std::string_view name;
    TensorSpec spec;
  };

  void define(const Defined& d, ValueId v) {
    if (!values_.emplace(d.name, v).second) c_.error_at(d.mark, text("%", d.name, " is defined twice"));
  }

  ValueId value() {
    if (c_.take_word("None")) return kNone;
    return given_value();
  }

  ValueId given_value() {
    const size_t mark = c_.mark();
    std::string_view name = c_.value_name();
    auto it = values_.find(name);
    if (it == values_.end()) c_.error_at(mark, text("%", name, " is not defined above this line"));
    return it->second;
  }

  Defined defined(std::string* source_name) {
    Defined d;
    d.mark = c_.mark();
    d.name = c_.value_name();
    if (source_name && c_.peek() != ':') *source_name = c_.name("a name or ':'");
    c_.expect(":");
    d.spec = read_spec(c_);
    return d;
  }

  // ---------------------------------------------------------------- sources and results
  void source(GraphSource::Kind kind) {
    std::string name;
    Defined d = defined(&name);
    Tensor data;
    if (kind == GraphSource::Kind::Constant && c_.take("=")) data = constant(d.spec);
    define(d, g_.add_source(kind, std::move(d.spec), std::move(name), std::move(data)));
  }

  Tensor constant(const TensorSpec& spec) {
    if (c_.peek() != '#') return read_elements(c_, spec);
    const size_t mark = c_.mark();
    c_.expect("#");
    std::string_view digest = c_.word("a digest");
    if (!digest.ends_with("...")) c_.error(text("expected '...', found ", c_.found()));
    digest.remove_suffix(3);
    for (const Tensor& t : options_.constants)
      if (t.defined() && t.dtype() == spec.dtype && t.shape() == spec.shape && constant_digest(t) == digest) return t;
    if (!options_.zeros)
      c_.error_at(mark, text("the elements of this constant are not in the text. Give the tensor to the parser, print "
                             "the graph with all elements, or ask for zeros"));
    Tensor t;
    try {
      t = Tensor::empty_strided(spec.shape, spec.strides, spec.dtype);
    } catch (const Error& e) {
      c_.error_at(mark, e.message());
    }
    for_each_element(t, [&](void* p) { store_scalar(p, spec.dtype, Scalar(0)); });
    t->wrapped = spec.wrapped;
    return t;
  }

  void output() {
    GraphResult r{GraphResult::Kind::Output, given_value(), kNone};
    if (c_.take_word("memory")) r.source = c_.index("the number of a memory");
    g_.results.push_back(r);
  }

  void result(GraphResult::Kind kind) {
    const size_t mark = c_.mark();
    GraphResult r{kind, kNone, g_.source_of(given_value())};
    if (r.source == kNone) c_.error_at(mark, "this is not an input or a state, but made by a node");
    c_.expect("<-");
    r.value = given_value();
    g_.results.push_back(r);
  }

  // ---------------------------------------------------------------- nodes
  void node() {
    std::vector<Defined> outs;
    while (c_.peek() != '=') {
      if (!outs.empty()) c_.expect(",");
      outs.push_back(defined(nullptr));
    }
    c_.expect("=");
    const size_t mark = c_.mark();
    std::string op = c_.name("the name of an operator");
    std::vector<ValueId> inputs;
    c_.expect("(");
    while (!c_.take(")")) {
      if (!inputs.empty()) c_.expect(",");
      inputs.push_back(value());
    }
    std::vector<TensorSpec> specs;
    for (Defined& d : outs) specs.push_back(d.spec);
    NodeId n = g_.make_node(std::move(op), std::move(inputs), {}, specs, 0);
    g_.order.push_back(n);
    attrs(g_.node(n), mark);
    if (c_.take("@")) g_.node(n).origin = g_.add_origin(c_.quoted());
    if (c_.take_word("with")) bodies(g_.node(n));
    for (size_t i = 0; i < outs.size(); ++i) define(outs[i], g_.node(n).outputs[i]);
  }

  void bodies(Node& node) {
    if (depth_ >= 20) c_.error("more than 20 graphs inside each other");
    c_.expect_line_end();
    while (c_.at_end() || !c_.take_word("end")) {
      if (!c_.take_word("graph")) c_.error(text("expected graph or end, found ", c_.found()));
      node.bodies.push_back(std::make_shared<const Graph>(Parser(c_, words_, options_, depth_ + 1).body()));
    }
  }

  void attrs(Node& node, size_t mark) {
    std::vector<OpVocabulary::AttrWord> declared;
    for (OpVocabulary::AttrWord word; words_.attr(node.op, declared.size(), word);) declared.push_back(word);
    std::vector<bool> given(declared.size(), false);
    for (const OpVocabulary::AttrWord& word : declared)
      node.attrs.push_back(word.otherwise ? *word.otherwise : AttrValue());
    if (c_.take("{")) {
      for (bool first = true; !c_.take("}"); first = false) {
        if (!first) c_.expect(",");
        attr(node, declared, given);
      }
    }
    for (size_t i = 0; i < declared.size(); ++i)
      if (!declared[i].otherwise && !given[i])
        c_.error_at(mark, text(node.op, " needs the attribute '", declared[i].name, "'"));
  }

  void attr(Node& node, const std::vector<OpVocabulary::AttrWord>& declared, std::vector<bool>& given) {
    const size_t mark = c_.mark();
    size_t at = declared.size();
    if (c_.take("#")) {
      at = static_cast<size_t>(c_.index("the position of an attribute"));
      if (at != node.attrs.size()) c_.error_at(mark, text("expected #", node.attrs.size(), ", the next attribute"));
      node.attrs.emplace_back();
    } else {
      std::string_view name = c_.word("the name of an attribute");
      for (size_t i = 0; i < declared.size(); ++i)
        if (declared[i].name == name) at = i;
      if (at == declared.size()) c_.error_at(mark, text(node.op, " has no attribute '", name, "'"));
      if (given[at]) c_.error_at(mark, text("the attribute '", name, "' is given twice"));
      given[at] = true;
    }
    c_.expect("=");
    if (c_.peek() != '!')
      node.attrs[at] = read_attr(c_, at < declared.size() ? declared[at].kind : AttrValue::Kind::None);
    if (c_.take("!")) binding(node, at);
  }

  void binding(Node& node, size_t at) {
    const size_t mark = c_.mark();
    AttrBinding b{static_cast<int32_t>(at), AttrBinding::Kind::Seed, 0};
    if (!c_.take_word("seed")) {
      const bool draw = c_.take("draw");
      if (!draw && !c_.take("host")) c_.error_at(mark, text("expected !seed, !draw0 or !host0, found ", c_.found()));
      b.kind = draw ? AttrBinding::Kind::Draw : AttrBinding::Kind::Host;
      b.index = c_.index(draw ? "the number of a draw" : "the number of a host number");
    }
    node.bindings.push_back(b);
    if (has_header_) return;
    if (b.kind == AttrBinding::Kind::Draw) g_.num_draws = std::max(g_.num_draws, b.index + 1);
    if (b.kind == AttrBinding::Kind::Host) g_.num_host = std::max(g_.num_host, b.index + 1);
  }

  Cursor& c_;
  const OpVocabulary& words_;
  const ParseOptions& options_;
  const int depth_;
  Graph g_;
  bool has_header_ = false;  // without one, the bindings say how many draws and host numbers there are
  std::unordered_map<std::string_view, ValueId> values_;
};

}  // namespace

Graph parse_graph(std::string_view text, const OpVocabulary& words, const ParseOptions& options) {
  Cursor cursor(text);
  return Parser(cursor, words, options).whole();
}

}  // namespace hw
