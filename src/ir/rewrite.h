// Graph surgery: who uses a value, replacing values, inserting and erasing nodes, finding them.
#pragma once

#include <span>

#include "ir/graph.h"

namespace hw {

/// Input `slot` of a node, or result number `slot` when node is kNone.
struct Use {
  NodeId node = kNone;
  int32_t slot = 0;
  bool operator==(const Use&) const = default;
};

/// Edits one graph and knows the uses of each value as it goes. The order of the nodes is a linked list meanwhile:
/// Graph::order is written by finish(), or at the end of the Rewriter's life.
class Rewriter {
 public:
  explicit Rewriter(Graph& graph);
  ~Rewriter() { finish(); }
  Rewriter(const Rewriter&) = delete;
  Rewriter& operator=(const Rewriter&) = delete;
  void finish();

  Graph& graph() { return g_; }
  const Node& node(NodeId n) const { return g_.node(n); }
  /// Walking the nodes: `for (NodeId n = r.first(); n != kNone; n = r.next(n))`. A node may be erased while it is visited
  /// if its successor was asked for before.
  NodeId first() const { return next_.back(); }
  NodeId last() const { return previous_.back(); }
  NodeId next(NodeId n) const { return next_[static_cast<size_t>(n)]; }
  NodeId previous(NodeId n) const { return previous_[static_cast<size_t>(n)]; }
  bool placed(NodeId n) const { return placed_[static_cast<size_t>(n)]; }

  std::span<const Use> uses(ValueId v) const { return uses_[static_cast<size_t>(v)]; }
  bool unused(ValueId v) const { return uses(v).empty(); }
  bool used_once(ValueId v) const { return uses(v).size() == 1; }
  bool is_result(ValueId v) const;
  /// The node that makes a value if its op is `op`, else null. Good until the next insert.
  const Node* made_by(ValueId v, std::string_view op) const;
  /// The node that makes a value which its one reader alone sees, else kNone.
  NodeId made_for_one(ValueId v) const;

  void set_input(NodeId n, size_t slot, ValueId v);
  void set_result(size_t result, ValueId v);
  /// All uses of `from`, results too, now read `to`.
  void replace(ValueId from, ValueId to);
  /// New nodes take the origin of the one they stand next to. The number of the new node.
  NodeId insert_before(NodeId at, std::string op, std::vector<ValueId> inputs, Attrs attrs,
                       std::span<const TensorSpec> outputs);
  NodeId insert_after(NodeId at, std::string op, std::vector<ValueId> inputs, Attrs attrs,
                      std::span<const TensorSpec> outputs);
  /// Before `at`; the first output.
  ValueId add(NodeId at, std::string op, std::vector<ValueId> inputs, Attrs attrs, const TensorSpec& output);
  ValueId add_source(GraphSource::Kind kind, TensorSpec spec, std::string name, Tensor constant = {});
  /// `grown`, whose one output `at` alone reads, moves to where `at` stands and computes its one output too, by other inputs and
  /// attributes.
  void take_over(NodeId at, NodeId grown, std::vector<ValueId> inputs, Attrs attrs);
  /// Takes a node, whose outputs nobody uses any more, out of the graph.
  void erase(NodeId n);
  /// Erases the node if nobody uses it, then those that made its inputs, and so on; the number erased.
  int erase_if_unused(NodeId n);

 private:
  NodeId insert(NodeId before, NodeId origin_of, std::string op, std::vector<ValueId> inputs, Attrs attrs,
                std::span<const TensorSpec> outputs);
  void add_use(ValueId v, Use use);
  void drop_use(ValueId v, Use use);
  size_t slot_of(NodeId n) const { return n == kNone ? next_.size() - 1 : static_cast<size_t>(n); }

  Graph& g_;
  std::vector<std::vector<Use>> uses_;
  std::vector<NodeId> next_, previous_;  // by node; the last entry is the end of the list
  std::vector<bool> placed_;
};

/// The nodes of an op in order.
std::vector<NodeId> find_nodes(const Graph& graph, std::string_view op);
/// Whether each value, nodes in order, is computed from sources of the given kinds alone (bits 1 << kind). Sources count.
std::vector<bool> computed_from(const Graph& graph, unsigned kinds);
/// Drops sources that are constants nobody uses, with their values' numbers kept.
int erase_unused_constants(Graph& graph);

}  // namespace hw
