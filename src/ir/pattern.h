// Patterns of operators as text: "relu(add(convolution(x, w, None), bias))".
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/graph.h"

namespace hw {

/// A name is any value, the same one wherever it stands; "_" is any value, "None" an input not given, "..." any further
/// inputs. "relu|gelu(...)" is either op. Inner nodes match by their first output; attributes are for the caller to look at.
class Pattern {
 public:
  explicit Pattern(std::string_view text);  // throws Error{Value} with the column

  struct Match {
    std::vector<NodeId> nodes;  // the root first, then the inner ones in the order of the text
    std::vector<std::pair<std::string, ValueId>> values;
    ValueId operator[](std::string_view name) const;  // throws Error{Key}
  };
  /// Whether the pattern matches with node `root` at its top.
  bool matches(const Graph& graph, NodeId root, Match& match) const;
  /// All matches, by root in order; they may overlap.
  std::vector<Match> find(const Graph& graph) const;

 private:
  struct Term {
    enum class Kind : uint8_t { Any, Name, Absent, Rest, Op } kind = Kind::Any;
    std::string name;              // Name
    std::vector<std::string> ops;  // Op
    std::vector<size_t> inputs;    // Op: terms
  };
  class Reader;
  bool match_term(const Graph& g, size_t term, ValueId v, Match& match) const;
  bool match_node(const Graph& g, const Term& term, NodeId n, Match& match) const;

  std::vector<Term> terms_;
  size_t root_ = 0;
};

}  // namespace hw
