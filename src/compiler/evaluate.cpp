// Running nodes on data at compile time.
#include "compiler/evaluate.h"

#include "base/error.h"
#include "compiler/check_graph.h"
#include "compiler/pass.h"
#include "ir/text.h"
#include "kernels/kernel.h"
#include "op/rules.h"
#include "op/vocabulary.h"

namespace hw {

static Tensor evaluate_view(const OpDef& op, const Node& node, const Tensor& x, const TensorSpec& out) {
  View v = op.view_rule()(x.spec(), node.attrs);
  const int64_t bytes = x.offset() * dtype_size(x.dtype());
  if (bytes % dtype_size(out.dtype) != 0) return {};
  Tensor y = Tensor::make(x->storage, out.dtype, std::move(v.shape), std::move(v.strides),
                          bytes / dtype_size(out.dtype) + v.offset);
  y->wrapped = out.wrapped;
  return y;
}

std::vector<Tensor> evaluate_node(const Graph& graph, const Node& node, std::span<const Tensor> inputs) {
  const OpDef& op = get_op(node.op);
  if (op.kind() == OpKind::View) {
    Tensor y = evaluate_view(op, node, inputs[0], graph.spec(node.outputs[0]));
    return y.defined() ? std::vector<Tensor>{y} : std::vector<Tensor>{};
  }
  std::vector<TensorSpec> in = input_specs(graph, node), out;
  std::vector<Tensor> made;
  std::vector<const void*> in_data;
  std::vector<void*> out_data;
  for (const Tensor& t : inputs) in_data.push_back(t.defined() ? t.data() : nullptr);
  for (ValueId v : node.outputs) {
    out.push_back(graph.spec(v));
    made.push_back(Tensor::empty_strided(out.back().shape, out.back().strides, out.back().dtype));
    made.back()->wrapped = out.back().wrapped;
    out_data.push_back(made.back().data());
  }
  std::unique_ptr<Kernel> kernel =
      prepare_kernel({op.name(), in, out, node.attrs, compute_dtype(op, in)}, DeviceType::CPU);
  Tensor scratch = Tensor::empty(Dims{static_cast<int64_t>(kernel->scratch_bytes())}, DType::U8);
  LaunchStatus status;
  kernel->run({in_data.data(), out_data.data(), scratch.data(), &node.attrs, &status});
  return status.failed ? std::vector<Tensor>{} : made;
}

std::vector<Tensor> evaluate_graph(const Graph& graph, std::span<const Tensor> tensors) {
  std::vector<Tensor> values(graph.values.size()), results;
  size_t given = 0;
  for (const GraphSource& s : graph.sources) {
    if (s.kind == GraphSource::Kind::Constant) {
      values[static_cast<size_t>(s.value)] = s.tensor;
      continue;
    }
    check(given < tensors.size(), "the graph takes more than ", tensors.size(), " tensors");
    const Tensor& t = tensors[given++];
    const TensorSpec& want = graph.spec(s.value);
    check(t.defined() && t.dtype() == want.dtype && t.shape() == want.shape && t.strides() == want.strides, "source ",
          s.name, " is ", want, " with strides ", want.strides, ", got ", t);
    values[static_cast<size_t>(s.value)] = t;
  }
  check(given == tensors.size(), "the graph takes ", given, " tensors, got ", tensors.size());
  for (NodeId n : graph.order) {
    const Node& node = graph.node(n);
    std::vector<Tensor> in;
    for (ValueId v : node.inputs) in.push_back(v == kNone ? Tensor() : values[static_cast<size_t>(v)]);
    const bool inside = node.bodies.size() == 1 && node.op == kOnce;
    const OpDef* op = find_op(node.op);
    check(inside || (op && op->kind() != OpKind::Composite && node.bindings.empty() && node.bodies.empty()),
          node_text(graph, n, op_vocabulary()), ": only plain calls of operators with kernels are evaluated");
    std::vector<Tensor> out = inside ? evaluate_graph(*node.bodies[0], in) : evaluate_node(graph, node, in);
    check(!out.empty(), node_text(graph, n, op_vocabulary()), ": fails on this data");
    for (size_t i = 0; i < out.size(); ++i) values[static_cast<size_t>(node.outputs[i])] = out[i];
  }
  for (const GraphResult& r : graph.results) results.push_back(values[static_cast<size_t>(r.value)]);
  return results;
}

bool constant_scalar(const Graph& graph, ValueId v, Scalar& value) {
  const int32_t s = graph.source_of(v);
  if (s == kNone) return false;
  const GraphSource& source = graph.sources[static_cast<size_t>(s)];
  if (source.kind != GraphSource::Kind::Constant || source.tensor.numel() != 1) return false;
  value = load_scalar(source.tensor.data(), source.tensor.dtype());
  return true;
}

}  // namespace hw
