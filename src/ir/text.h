// Graph text: one line for each source, node and result. parse_graph(print_graph(g)) equals g. Grammar: docs/design/ir.md.
#pragma once

#include <string>
#include <string_view>

#include "ir/graph.h"

namespace hw {

/// What text needs to know of operators, which ir does not: the names, kinds and defaults of their attributes.
class OpVocabulary {
 public:
  struct AttrWord {
    std::string_view name;
    AttrValue::Kind kind = AttrValue::Kind::None;
    const AttrValue* otherwise = nullptr;  // the default, which is not printed; null: it must be given
  };
  virtual ~OpVocabulary() = default;
  /// Attribute `index` of `op`; false past the last one, and for an operator that is not known.
  virtual bool attr(std::string_view op, size_t index, AttrWord& word) const = 0;
};

struct PrintOptions {
  int64_t most_elements = 16;  // constants with more are printed as a digest; -1: never
  bool origins = true;
};

/// Values are numbered in the order of appearance, so equal graphs have equal text. Prints broken graphs too.
std::string print_graph(const Graph& graph, const OpVocabulary& words, const PrintOptions& options = {});
/// The line of one node, its values by their numbers in the graph: for messages.
std::string node_text(const Graph& graph, NodeId node, const OpVocabulary& words);

/// A constant printed as a digest has no data in the text. It is looked up here, or made of zeros, or refused.
struct ParseOptions {
  std::span<const Tensor> constants;
  bool zeros = false;
};

/// Throws Error{Value} with line and column.
Graph parse_graph(std::string_view text, const OpVocabulary& words, const ParseOptions& options = {});

/// 16 hexadecimal digits of dtype, shape and elements in row-major order, whatever the strides.
std::string constant_digest(const Tensor& constant);

/// The kind a literal of kind `written` becomes for an attribute declared as `declared`: 1 is a float for a float.
AttrValue::Kind fitted_kind(AttrValue::Kind written, AttrValue::Kind declared);

}  // namespace hw
