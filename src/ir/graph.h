// The graph: values, the operators that make them, and what enters and leaves. Plain data; pure (no operator writes to an input).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/attr.h"
#include "core/attr_binding.h"
#include "core/tensor.h"

namespace hw {

using ValueId = int32_t;  // -1: an optional input that is not given
using NodeId = int32_t;
constexpr int32_t kNone = -1;

struct GraphValue {
  TensorSpec spec;          // strides always set
  NodeId producer = kNone;  // none for a source
  int32_t slot = 0;         // which output of the producer
};

class Graph;

struct Node {
  std::string op;
  std::vector<ValueId> inputs, outputs;
  Attrs attrs;  // in the order of the op's declaration
  std::vector<AttrBinding> bindings;
  int32_t origin = 0;  // into Graph::origins
  /// The graphs inside an op that runs graphs (a fused region, a branch, a loop): their inputs are the node's, their outputs too.
  std::vector<std::shared_ptr<const Graph>> bodies;
};

/// A value that the graph does not make: an argument of the call, a tensor that outlives it (parameter, buffer, optimiser
/// state), or a constant.
struct GraphSource {
  enum class Kind : uint8_t { Input, State, Constant };
  Kind kind = Kind::Input;
  ValueId value = kNone;
  std::string name;
  Tensor tensor;  // Constant: its data
};

/// What the graph gives back: an output of the call, the new content of a source, or the gradient of one.
struct GraphResult {
  enum class Kind : uint8_t { Output, Update, Gradient };
  Kind kind = Kind::Output;
  ValueId value = kNone;
  // Update: the source whose memory takes the value. Gradient: the source whose .grad it becomes.
  // Output: outputs with the same number share memory, as views of one tensor do.
  int32_t source = kNone;
};

/// Nodes are numbered once and for all; `order` says which are in the graph and in what order they run.
class Graph {
 public:
  Graph();
  Graph(const Graph&);
  Graph(Graph&&) noexcept;
  Graph& operator=(const Graph&);
  Graph& operator=(Graph&&) noexcept;
  ~Graph();

  std::string name = "graph";
  std::vector<GraphValue> values;
  std::vector<Node> nodes;
  std::vector<NodeId> order;
  std::vector<GraphSource> sources;
  std::vector<GraphResult> results;
  std::vector<std::string> origins{""};  // "model.layer1 (train.py:31)"; 0 is unknown
  int32_t num_draws = 0, num_host = 0;   // random draws and host numbers a run needs

  const TensorSpec& spec(ValueId v) const { return values[static_cast<size_t>(v)].spec; }
  const Node& node(NodeId n) const { return nodes[static_cast<size_t>(n)]; }
  Node& node(NodeId n) { return nodes[static_cast<size_t>(n)]; }
  const Node* producer(ValueId v) const {
    NodeId p = values[static_cast<size_t>(v)].producer;
    return p == kNone ? nullptr : &node(p);
  }
  /// The source that a value is, or kNone.
  int32_t source_of(ValueId v) const;

  ValueId add_source(GraphSource::Kind kind, TensorSpec spec, std::string name, Tensor constant = {});
  int32_t add_origin(std::string text);  // the same text gives the same number
  /// Adds a node and its outputs without placing it in the order.
  NodeId make_node(std::string op, std::vector<ValueId> inputs, Attrs attrs, std::span<const TensorSpec> outputs,
                   int32_t origin);
  /// Adds a node at the end of the order; the number of its first output.
  ValueId add(std::string op, std::vector<ValueId> inputs, Attrs attrs, std::span<const TensorSpec> outputs,
              int32_t origin = 0);
  ValueId add(std::string op, std::vector<ValueId> inputs, Attrs attrs, const TensorSpec& output, int32_t origin = 0) {
    return add(std::move(op), std::move(inputs), std::move(attrs), std::span(&output, 1), origin);
  }
};

/// A spec with contiguous strides filled in where there are none.
TensorSpec with_strides(TensorSpec spec);

}  // namespace hw
