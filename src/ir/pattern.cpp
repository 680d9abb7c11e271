// Reading and matching patterns of operators.
#include "ir/pattern.h"

#include <algorithm>
#include <cctype>

#include "base/error.h"

namespace hw {

class Pattern::Reader {
 public:
  Reader(std::string_view text, std::vector<Term>& terms) : text_(text), terms_(terms) {}

  size_t whole() {
    size_t root = term(0);
    blanks();
    if (at_ != text_.size()) error("expected the end");
    if (terms_[root].kind != Term::Kind::Op) error("a pattern is an operator with its inputs in parentheses");
    return root;
  }

 private:
  [[noreturn]] void error(std::string_view what) const {
    fail(ErrorKind::Value, "pattern '", text_, "', column ", at_ + 1, ": ", what);
  }
  void blanks() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(char c) {
    blanks();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  std::string word() {
    blanks();
    size_t begin = at_;
    auto in_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; };
    while (at_ < text_.size() && in_word(text_[at_])) ++at_;
    if (begin == at_) error("expected an operator, a name, '_', 'None' or '...'");
    return std::string(text_.substr(begin, at_ - begin));
  }

  size_t term(int depth) {
    if (depth > 50) error("more than 50 operators inside each other");
    Term t;
    t.ops.push_back(word());
    while (take('|')) t.ops.push_back(word());
    if (take('(')) {
      t.kind = Term::Kind::Op;
      while (!take(')')) {
        if (!t.inputs.empty() && !take(',')) error("expected ',' or ')'");
        if (!t.inputs.empty() && terms_[t.inputs.back()].kind == Term::Kind::Rest) error("'...' comes last");
        t.inputs.push_back(term(depth + 1));
      }
    } else {
      if (t.ops.size() > 1) error("expected '(' after the operators");
      t.name = t.ops[0];
      t.ops.clear();
      t.kind = t.name == "_"      ? Term::Kind::Any
               : t.name == "None" ? Term::Kind::Absent
               : t.name == "..."  ? Term::Kind::Rest
                                  : Term::Kind::Name;
    }
    terms_.push_back(std::move(t));
    return terms_.size() - 1;
  }

  std::string_view text_;
  size_t at_ = 0;
  std::vector<Term>& terms_;
};

Pattern::Pattern(std::string_view text) { root_ = Reader(text, terms_).whole(); }

ValueId Pattern::Match::operator[](std::string_view name) const {
  for (const auto& [key, value] : values)
    if (key == name) return value;
  fail(ErrorKind::Key, "the pattern has no value '", name, "'");
}

bool Pattern::match_term(const Graph& g, size_t at, ValueId v, Match& match) const {
  const Term& term = terms_[at];
  if (term.kind == Term::Kind::Absent) return v == kNone;
  if (v == kNone) return false;
  if (term.kind == Term::Kind::Any) return true;
  if (term.kind == Term::Kind::Name) {
    for (const auto& [key, value] : match.values)
      if (key == term.name) return value == v;
    match.values.emplace_back(term.name, v);
    return true;
  }
  const GraphValue& value = g.values[static_cast<size_t>(v)];
  return value.producer != kNone && value.slot == 0 && match_node(g, term, value.producer, match);
}

bool Pattern::match_node(const Graph& g, const Term& term, NodeId n, Match& match) const {
  const Node& node = g.node(n);
  if (std::find(term.ops.begin(), term.ops.end(), node.op) == term.ops.end()) return false;
  match.nodes.push_back(n);
  for (size_t i = 0; i < term.inputs.size(); ++i) {
    if (terms_[term.inputs[i]].kind == Term::Kind::Rest) return true;
    if (i >= node.inputs.size() || !match_term(g, term.inputs[i], node.inputs[i], match)) return false;
  }
  return term.inputs.size() == node.inputs.size();
}

bool Pattern::matches(const Graph& graph, NodeId root, Match& match) const {
  match = {};
  return match_node(graph, terms_[root_], root, match);
}

std::vector<Pattern::Match> Pattern::find(const Graph& graph) const {
  std::vector<Match> out;
  for (NodeId n : graph.order)
    if (Match m; matches(graph, n, m)) out.push_back(std::move(m));
  return out;
}

}  // namespace hw
