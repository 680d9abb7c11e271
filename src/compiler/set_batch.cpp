// Following the batch axis through a graph while its size changes.
#include "compiler/set_batch.h"

#include "base/error.h"
#include "compiler/check_graph.h"
#include "compiler/evaluate.h"
#include "ir/text.h"
#include "op/op_def.h"
#include "op/vocabulary.h"

namespace hw {

namespace {

/// Where the batch is in a value: a factor of the size of `axis`, `within` counting what lies inside of it in that axis.
/// [batch, time] seen as [batch * time] has within = time. Unknown (0) where batches were joined.
struct BatchAxis {
  int64_t axis = -1, within = 1;
  bool none() const { return axis < 0; }
};

int64_t product_behind(const Dims& shape, int64_t axis) {
  int64_t product = 1;
  for (size_t i = static_cast<size_t>(axis + 1); i < shape.size(); ++i) product *= shape[i];
  return product;
}

class Batch {
 public:
  Batch(const Graph& old, int64_t to) : old_(old), g_(old), to_(to), at_(old.values.size()) {}

  Graph run(bool numbers_too) {
    check(to_ >= 1, "the batch size must be at least 1, got ", to_);
    for (const GraphResult& r : old_.results)
      check(r.kind == GraphResult::Kind::Output,
            "the graph updates state or makes gradients, which depend on the batch "
            "size in ways that are not in it. Capture it with a batch of ",
            to_, ".");
    inputs();
    if (!numbers_too && from_ > 1) refuse_numbers();
    for (NodeId n : g_.order) {
      try {
        node(n);
      } catch (const Error& e) {
        fail(ErrorKind::Value, node_text(old_, n, op_vocabulary()), ": for a batch of ", to_, " instead of ", from_,
             ": ", e.message());
      }
    }
    return std::move(g_);
  }

 private:
  void inputs() {
    for (const GraphSource& s : g_.sources) {
      TensorSpec& spec = g_.values[static_cast<size_t>(s.value)].spec;
      if (s.kind != GraphSource::Kind::Input || spec.shape.empty()) continue;
      check(from_ < 0 || spec.shape[0] == from_, "input ", s.name, " has ", spec.shape[0], " rows, another input ",
            from_, ": which is the batch?");
      from_ = spec.shape[0];
      check(from_ > 0, "input ", s.name, " has no rows");
      check(spec.strides == contiguous_strides(spec.shape), "input ", s.name, " is not contiguous");
      spec.shape[0] = to_;
      spec.strides = contiguous_strides(spec.shape);
      at_[static_cast<size_t>(s.value)] = {0, 1};
    }
    check(from_ > 0, "the graph has no input with axes");
  }

  void refuse_numbers() const {
    for (NodeId n : old_.order)
      for (ValueId v : old_.node(n).inputs)
        if (Scalar s; v != kNone && constant_scalar(old_, v, s))
          check(
              s.f64() != static_cast<double>(from_), node_text(old_, n, op_vocabulary()), ": the number ", s,
              " equals the batch size. If it does not come from it, say numbers_too=True; otherwise capture the graph "
              "with a batch of ",
              to_, ".");
  }

  void node(NodeId n) {
    Node& node = g_.node(n);
    check(node.bodies.empty(), "there are graphs inside it");
    const Attrs before = node.attrs;
    BatchAxis known;  // in the output, where the attributes are what says it
    attributes(node, known);
    bool changed = node.attrs != before;
    for (ValueId v : node.inputs) changed = changed || (v != kNone && !at_[static_cast<size_t>(v)].none());
    if (!changed) return;
    check(find_op(node.op) && find_op(node.op)->kind() != OpKind::Composite, "it has no rules");
    Node before_node = old_.node(n);
    std::vector<TensorSpec> was = inferred_outputs(old_, before_node), now = inferred_outputs(g_, node);
    for (size_t i = 0; i < now.size(); ++i) output(node, node.outputs[i], was[i], now[i], known);
  }

  void output(const Node& node, ValueId v, const TensorSpec& was, const TensorSpec& now, const BatchAxis& known) {
    const TensorSpec& had = old_.spec(v);
    TensorSpec& spec = g_.values[static_cast<size_t>(v)].spec;
    check(had.strides == was.strides, "its output was written into a tensor of another layout");
    spec.shape = now.shape;
    spec.strides = now.strides;
    check(had.shape.size() == now.shape.size(), "it gives ", now.shape, " instead of ", had.shape);
    BatchAxis at;
    for (size_t axis = 0; axis < now.shape.size(); ++axis) {
      if (now.shape[axis] == had.shape[axis]) continue;
      check(at.none() && had.shape[axis] % from_ == 0 && had.shape[axis] / from_ * to_ == now.shape[axis], "it gives ",
            now.shape, " instead of ", had.shape);
      at.axis = static_cast<int64_t>(axis);
    }
    if (to_ == from_ || at.none()) return;
    at.within = known.none() ? within(node, had.shape[static_cast<size_t>(at.axis)]) : known.within;
    at_[static_cast<size_t>(v)] = at;
  }

  /// As in an input whose batch axis has the same size.
  int64_t within(const Node& node, int64_t size) const {
    if (size == from_) return 1;
    for (ValueId v : node.inputs) {
      if (v == kNone || at_[static_cast<size_t>(v)].none()) continue;
      const BatchAxis& x = at_[static_cast<size_t>(v)];
      if (old_.spec(v).shape[static_cast<size_t>(x.axis)] == size) return x.within;
    }
    return 0;
  }

  // ---------------------------------------------------------------- sizes in attributes
  void attributes(Node& node, BatchAxis& known) {
    const OpDef* op = find_op(node.op);
    const BatchAxis x =
        node.inputs.empty() || node.inputs[0] == kNone ? BatchAxis() : at_[static_cast<size_t>(node.inputs[0])];
    if (node.op == "view") return x.none() ? void() : view(node, x, known);
    if (node.op == "expand") return expand(node, x);
    if (node.op == "narrow" && !x.none()) return narrow(node, x);
    check(x.none() || (node.op != "as_strided" && node.op != "_write_view"), "it addresses memory by numbers");
    const int size = op ? op->attr_index("size") : -1;
    if (size < 0 || !op->inputs().empty() || from_ == 1) return;
    Dims sizes = node.attrs[static_cast<size_t>(size)].ints();  // of a new tensor
    if (sizes.empty() || sizes[0] != from_) return;
    sizes[0] = to_;
    node.attrs[static_cast<size_t>(size)] = sizes;
  }

  /// The axis of the result that holds the batch: as many elements lie behind it as before.
  void view(Node& node, const BatchAxis& x, BatchAxis& known) {
    const Dims &from = old_.spec(node.inputs[0]).shape, &to = old_.spec(node.outputs[0]).shape;
    const int64_t behind = product_behind(from, x.axis);
    std::vector<BatchAxis> loose, exact;
    for (int64_t j = 0; j < static_cast<int64_t>(to.size()); ++j) {
      const int64_t size = to[static_cast<size_t>(j)], rest = product_behind(to, j);
      if (x.within == 0) {
        if (size == from[static_cast<size_t>(x.axis)] && rest == behind) exact.push_back({j, 0});
        continue;
      }
      const int64_t inside = x.within * behind;
      if (rest == 0 || inside % rest != 0 || size % (from_ * (inside / rest)) != 0) continue;
      (size == from_ && inside == rest ? exact : loose).push_back({j, inside / rest});
    }
    if (exact.size() > 1 &&
        from[static_cast<size_t>(x.axis)] == from_)  // several axes of size 1: it stays where it was
      std::erase_if(exact, [&](const BatchAxis& e) { return e.axis != x.axis; });
    const std::vector<BatchAxis>& found = exact.empty() ? loose : exact;
    check(found.size() == 1, "which of the sizes ", to, " holds the batch?");
    known = found[0];
    Dims sizes = to;
    int64_t& size = sizes[static_cast<size_t>(known.axis)];
    size = size / from_ * to_;
    node.attrs[0] = sizes;
  }

  void expand(Node& node, const BatchAxis& x) {
    Dims sizes = node.attrs[0].ints();
    if (sizes.empty()) return;
    const int64_t lead = static_cast<int64_t>(sizes.size()) - old_.spec(node.inputs[0]).ndim();
    if (!x.none()) {
      if (int64_t& size = sizes[static_cast<size_t>(lead + x.axis)]; size != -1) size = size / from_ * to_;
    } else if (from_ > 1 && sizes[0] == from_ && (lead > 0 || old_.spec(node.inputs[0]).shape[0] == 1)) {
      sizes[0] = to_;  // one row for the whole batch
    }
    node.attrs[0] = sizes;
  }

  /// The whole axis stays whole.
  void narrow(Node& node, const BatchAxis& x) {
    const TensorSpec& spec = old_.spec(node.inputs[0]);
    if (normalize_axis(node.attrs[0].i64(), spec.ndim()) != x.axis) return;
    const int64_t size = spec.shape[static_cast<size_t>(x.axis)];
    check(node.attrs[1].i64() == 0 && node.attrs[2].i64() == size, "it takes a part of the batch");
    node.attrs[2] = size / from_ * to_;
  }

  const Graph& old_;
  Graph g_;
  const int64_t to_;
  int64_t from_ = -1;
  std::vector<BatchAxis> at_;  // by value
};

}  // namespace

void set_batch(Graph& graph, int64_t batch, bool numbers_too) {
  Graph changed = Batch(graph, batch).run(numbers_too);
  check_graph(changed);
  graph = std::move(changed);
}

}  // namespace hw
