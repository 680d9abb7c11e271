// Running nodes on data at compile time.
#include "compiler/evaluate.h"

#include <cstring>

#include "base/error.h"
#include "chain/chain.h"
#include "compiler/check_graph.h"
#include "compiler/lower.h"
#include "compiler/pass.h"
#include "compiler/regions/region.h"
#include "ir/text.h"
#include "kernels/kernel.h"
#include "op/rules.h"
#include "op/vocabulary.h"
#include "plan/layout.h"

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

static Attrs bound_attrs(const Node& node, const EvaluateRun& run) {
  Attrs attrs = node.attrs;
  for (const AttrBinding& b : node.bindings) {
    AttrValue& a = attrs[static_cast<size_t>(b.attr)];
    if (b.kind == AttrBinding::Kind::Seed) {
      a = static_cast<int64_t>(run.seed);
    } else if (b.kind == AttrBinding::Kind::Draw) {
      a = static_cast<int64_t>(run.first_draw + static_cast<uint64_t>(b.index));
    } else {
      check(static_cast<size_t>(b.index) < run.host.size(), "the graph takes more than ", run.host.size(),
            " host numbers");
      const double v = run.host[static_cast<size_t>(b.index)];
      if (a.kind() == AttrValue::Kind::Bool)
        a = AttrValue(v != 0);
      else if (a.kind() == AttrValue::Kind::Int)
        a = AttrValue(static_cast<int64_t>(v));
      else
        a = AttrValue(v);
    }
  }
  return attrs;
}

static std::vector<Tensor> evaluate_kernel(const Graph& graph, const Node& node, std::span<const Tensor> inputs,
                                           const EvaluateRun& run) {
  const OpDef& op = get_op(node.op);
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
  const Attrs attrs = bound_attrs(node, run);
  std::unique_ptr<Kernel> kernel = prepare_kernel({op.name(), in, out, attrs, compute_dtype(op, in)}, DeviceType::CPU);
  Tensor scratch = Tensor::empty(Dims{static_cast<int64_t>(kernel->scratch_bytes())}, DType::U8);
  LaunchStatus status;
  kernel->run({in_data.data(), out_data.data(), scratch.data(), &attrs, &status});
  return status.failed ? std::vector<Tensor>{} : made;
}

static Tensor copy_of(const Tensor& t) {
  Tensor made = Tensor::empty_strided(t.shape(), t.strides(), t.dtype());
  std::memcpy(made.data(), t.data(), static_cast<size_t>(extent_of(t.spec())));
  return made;
}

/// The node alone as a plan.
static std::vector<Tensor> evaluate_lowered(const Graph& graph, const Node& node, std::span<const Tensor> inputs) {
  Graph alone;
  std::vector<ValueId> in;
  std::vector<TensorSpec> specs;
  for (ValueId v : node.inputs) in.push_back(alone.add_source(GraphSource::Kind::Input, graph.spec(v), ""));
  for (ValueId v : node.outputs) specs.push_back(graph.spec(v));
  const NodeId n = alone.make_node(node.op, std::move(in), node.attrs, specs, 0);
  alone.order.push_back(n);
  alone.node(n).bodies = node.bodies;
  for (size_t i = 0; i < node.outputs.size(); ++i)
    alone.results.push_back({GraphResult::Kind::Output, alone.node(n).outputs[i], static_cast<int32_t>(i)});
  return run_as_plan(alone, inputs);
}

static bool truth(const std::vector<Tensor>& results) { return *static_cast<const bool*>(results.at(0).data()); }

/// Ops that run graphs: branches, loops, regions, and what runs once.
static std::vector<Tensor> evaluate_bodies(const Graph& graph, const Node& node, std::span<const Tensor> inputs,
                                           const EvaluateRun& run) {
  if (node.op == "_cond") return evaluate_graph(*node.bodies[truth({inputs[0]}) ? 0 : 1], inputs, run);
  if (node.op == "_while") {
    std::vector<Tensor> now(inputs.begin(), inputs.end());
    while (truth(evaluate_graph(*node.bodies[0], now, run))) {
      std::vector<Tensor> next = evaluate_graph(*node.bodies[1], now, run);
      for (size_t i = 0; i < next.size(); ++i) now[i] = next[i];
    }
    now.resize(node.outputs.size());
    return now;
  }
  if (node.op == kRegion && run.lowered_regions) return evaluate_lowered(graph, node, inputs);
  if (node.op == kRegion || node.op == kOnce) return evaluate_graph(*node.bodies[0], inputs, run);
  bug("there is no way to evaluate ", node.op);
}

std::vector<Tensor> evaluate_node(const Graph& graph, const Node& node, std::span<const Tensor> inputs,
                                  const EvaluateRun& run) {
  if (!node.bodies.empty()) return evaluate_bodies(graph, node, inputs, run);
  const OpDef& op = get_op(node.op);
  if (op.kind() != OpKind::View) return evaluate_kernel(graph, node, inputs, run);
  Tensor y = evaluate_view(op, node, inputs[0], graph.spec(node.outputs[0]));
  return y.defined() ? std::vector<Tensor>{y} : std::vector<Tensor>{};
}

std::vector<Tensor> evaluate_values(const Graph& graph, std::span<const Tensor> tensors, const EvaluateRun& run) {
  std::vector<Tensor> values(graph.values.size());
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
    const OpDef* op = find_op(node.op);
    check(!node.bodies.empty() || (op && op->kind() != OpKind::Composite), node_text(graph, n, op_vocabulary()),
          ": only operators with kernels are evaluated");
    std::vector<Tensor> out = evaluate_node(graph, node, in, run);
    check(!out.empty(), node_text(graph, n, op_vocabulary()), ": fails on this data");
    for (size_t i = 0; i < node.outputs.size(); ++i) values[static_cast<size_t>(node.outputs[i])] = out[i];
  }
  return values;
}

std::vector<Tensor> evaluate_graph(const Graph& graph, std::span<const Tensor> tensors, const EvaluateRun& run) {
  const std::vector<Tensor> values = evaluate_values(graph, tensors, run);
  std::vector<Tensor> results;
  for (const GraphResult& r : graph.results) results.push_back(values[static_cast<size_t>(r.value)]);
  return results;
}

std::vector<Tensor> run_as_plan(const Graph& graph, std::span<const Tensor> tensors, const EvaluateRun& run) {
  Lowered lowered = lower(graph);
  Chain chain(std::move(lowered.plan), std::move(lowered.kernels));
  const Plan& plan = chain.plan();
  std::vector<Tensor> sources;
  std::vector<const void*> addresses;
  for (const Tensor& t : tensors) {
    sources.push_back(copy_of(t));
    addresses.push_back(sources.back().data());
  }
  std::vector<Tensor> memory;
  std::vector<void*> outputs;
  for (int64_t bytes : plan.outputs) {
    memory.push_back(Tensor::empty(Dims{bytes}, DType::U8));
    outputs.push_back(memory.back().data());
  }
  Tensor work = Tensor::empty(Dims{static_cast<int64_t>(chain.memory_bytes())}, DType::U8);
  chain.run({addresses, outputs, run.host, run.seed, run.first_draw}, work.data());
  std::vector<int32_t> given(graph.sources.size(), kNone);
  int32_t count = 0;
  for (size_t i = 0; i < given.size(); ++i)
    if (graph.sources[i].kind != GraphSource::Kind::Constant) given[i] = count++;
  std::vector<Tensor> results;
  size_t next = 0;
  for (const GraphResult& r : graph.results) {
    if (r.kind == GraphResult::Kind::Update) {
      results.push_back(sources[static_cast<size_t>(given[static_cast<size_t>(r.source)])]);
      continue;
    }
    const PlanTensor& t = plan.tensors[static_cast<size_t>(plan.results[next++])];
    const PlanBuffer& b = plan.buffers[static_cast<size_t>(t.buffer)];
    results.push_back(Tensor::make(memory[static_cast<size_t>(b.index)]->storage, t.spec.dtype, t.spec.shape,
                                   t.spec.strides, t.offset / dtype_size(t.spec.dtype)));
  }
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
