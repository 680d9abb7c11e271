// Checking the nodes of a graph against the declarations of their operators.
#include "compiler/check_graph.h"

#include "base/error.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "op/node_call.h"
#include "op/rules.h"
#include "op/vocabulary.h"

namespace hw {

std::vector<TensorSpec> input_specs(const Graph& graph, const Node& node) {
  std::vector<TensorSpec> specs(node.inputs.size());
  for (size_t i = 0; i < specs.size(); ++i)
    if (node.inputs[i] != kNone) specs[i] = graph.spec(node.inputs[i]);
  return specs;
}

std::vector<TensorSpec> inferred_outputs(const Graph& graph, const Node& node) {
  const OpDef& op = get_op(node.op);
  std::vector<TensorSpec> in = input_specs(graph, node);
  try {
    return infer_outputs({op, in, node.attrs, compute_dtype(op, in)});
  } catch (const Error& e) {
    throw Error(e.kind(), text(call_text(op, in, node.attrs), ": ", e.message()));
  }
}

namespace {

std::string output_problem(const OpDef& op, const TensorSpec& have, const TensorSpec& want) {
  if (have.shape != want.shape) return text("the output is ", have, ", by the rules ", want);
  if (op.kind() == OpKind::View)
    return have.dtype == want.dtype && have.strides == want.strides
               ? std::string()
               : text("the view is ", have, " with strides ", have.strides, ", by the rules ", want, " with ",
                      want.strides);
  return can_cast(want.dtype, have.dtype) ? std::string() : text("the output is ", have, ", by the rules ", want);
}

/// An op that runs graphs: each takes the node's inputs, and constants of its own behind them, and must be right itself.
std::string body_problem(const Graph& graph, const Node& node) {
  for (const auto& body : node.bodies) {
    if (body->sources.size() < node.inputs.size())
      return text("the body takes ", body->sources.size(), " values, the node has ", node.inputs.size(), " inputs");
    for (size_t i = 0; i < node.inputs.size(); ++i)
      if (graph.spec(node.inputs[i]).shape != body->spec(body->sources[i].value).shape)
        return text("input ", i, " is ", graph.spec(node.inputs[i]), ", the body takes ",
                    body->spec(body->sources[i].value));
    for (size_t i = node.inputs.size(); i < body->sources.size(); ++i)
      if (body->sources[i].kind != GraphSource::Kind::Constant)
        return text("source ", i, " of the body is given by nobody");
    if (std::string problem = specs_problem(*body); !problem.empty()) return problem;
  }
  if (node.bodies.back()->results.size() != node.outputs.size())
    return text("the body gives ", node.bodies.back()->results.size(), " values, the node has ", node.outputs.size(),
                " outputs");
  return {};
}

std::string node_problem(const Graph& graph, const Node& node) {
  if (!node.bodies.empty()) return body_problem(graph, node);
  const OpDef* op = find_op(node.op);
  if (!op) return text("there is no op '", node.op, "'");
  if (std::string problem = node_call_problem(*op, node); !problem.empty()) return problem;
  if (op->kind() == OpKind::Composite) return {};  // has no rules of its own
  std::vector<TensorSpec> want = inferred_outputs(graph, node);
  if (want.size() != node.outputs.size()) return text("the rules give ", want.size(), " outputs");
  for (size_t i = 0; i < want.size(); ++i)
    if (std::string problem = output_problem(*op, graph.spec(node.outputs[i]), want[i]); !problem.empty())
      return problem;
  return {};
}

}  // namespace

std::string specs_problem(const Graph& graph) {
  for (NodeId n : graph.order) {
    std::string problem;
    try {
      problem = node_problem(graph, graph.node(n));
    } catch (const Error& e) {
      problem = e.message();
    }
    if (!problem.empty()) return text(node_text(graph, n, op_vocabulary()), ": ", problem);
  }
  return {};
}

void check_graph(const Graph& graph) {
  std::string problem = graph_problem(graph);
  if (problem.empty()) problem = specs_problem(graph);
  check(problem.empty(), "graph ", graph.name, ": ", problem);
}

}  // namespace hw
