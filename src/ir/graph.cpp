// Building a graph.
#include "ir/graph.h"

#include <algorithm>

#include "base/error.h"

namespace hw {

Graph::Graph() = default;
Graph::Graph(const Graph&) = default;
Graph::Graph(Graph&&) noexcept = default;
Graph& Graph::operator=(const Graph&) = default;
Graph& Graph::operator=(Graph&&) noexcept = default;
Graph::~Graph() = default;

int32_t Graph::source_of(ValueId v) const {
  if (v == kNone || values[static_cast<size_t>(v)].producer != kNone) return kNone;
  return values[static_cast<size_t>(v)].slot;
}

ValueId Graph::add_source(GraphSource::Kind kind, TensorSpec spec, std::string source_name, Tensor constant) {
  ValueId v = static_cast<ValueId>(values.size());
  values.push_back({with_strides(std::move(spec)), kNone, static_cast<int32_t>(sources.size())});
  sources.push_back({kind, v, std::move(source_name), std::move(constant)});
  return v;
}

int32_t Graph::add_origin(std::string text) {
  // Neighbours share their origin, so the search starts at the end.
  for (size_t i = origins.size(); i-- > 0 && origins.size() - i < 64;)
    if (origins[i] == text) return static_cast<int32_t>(i);
  origins.push_back(std::move(text));
  return static_cast<int32_t>(origins.size() - 1);
}

NodeId Graph::make_node(std::string op, std::vector<ValueId> inputs, Attrs attrs, std::span<const TensorSpec> outputs,
                        int32_t origin) {
  NodeId n = static_cast<NodeId>(nodes.size());
  Node made{std::move(op), std::move(inputs), {}, std::move(attrs), {}, origin, {}};
  for (size_t i = 0; i < outputs.size(); ++i) {
    made.outputs.push_back(static_cast<ValueId>(values.size()));
    values.push_back({with_strides(outputs[i]), n, static_cast<int32_t>(i)});
  }
  nodes.push_back(std::move(made));
  return n;
}

ValueId Graph::add(std::string op, std::vector<ValueId> inputs, Attrs attrs, std::span<const TensorSpec> outputs,
                   int32_t origin) {
  NodeId n = make_node(std::move(op), std::move(inputs), std::move(attrs), outputs, origin);
  order.push_back(n);
  if (node(n).outputs.empty()) bug("node ", node(n).op, " has no outputs");
  return node(n).outputs[0];
}

TensorSpec with_strides(TensorSpec spec) {
  if (spec.strides.size() != spec.shape.size()) spec.strides = contiguous_strides(spec.shape);
  return spec;
}

}  // namespace hw
