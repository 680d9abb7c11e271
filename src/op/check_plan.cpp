// Checking the calls of a plan against the declarations of their operators.
#include "op/check_plan.h"

#include "base/error.h"
#include "ir/graph.h"
#include "op/node_call.h"
#include "op/rules.h"

namespace hw {

namespace {

/// The call as a node, whose values are `in` and `out`.
std::string call_problem(const PlanStep& s, std::span<const TensorSpec> in, std::span<const TensorSpec> out) {
  const OpDef* op = find_op(s.op);
  if (!op) return text("there is no op '", s.op, "'");
  if (op->kind() != OpKind::Kernel) return text(s.op, " has no kernels");
  Node node;
  node.op = s.op;
  for (int32_t t : s.inputs) node.inputs.push_back(t < 0 ? kNone : 0);
  node.outputs.assign(s.outputs.size(), 0);
  node.attrs = s.attrs;
  node.bindings = s.bindings;
  if (std::string problem = node_call_problem(*op, node); !problem.empty()) return problem;
  const std::vector<TensorSpec> want = infer_outputs({*op, in, s.attrs, compute_dtype(*op, in)});
  if (want.size() != out.size()) return text("the rules give ", want.size(), " outputs, the call has ", out.size());
  for (size_t i = 0; i < want.size(); ++i)
    if (want[i].shape != out[i].shape || !can_cast(want[i].dtype, out[i].dtype))
      return text("output ", i, " is ", out[i], ", by the rules ", want[i]);
  return {};
}

std::string step_problem(const PlanStep& s, std::span<const TensorSpec> in, std::span<const TensorSpec> out) {
  std::string problem;
  try {
    problem = call_problem(s, in, out);
  } catch (const Error& e) {
    problem = e.message();
  }
  return problem.empty() ? problem : text(s.op, ": ", problem);
}

std::string loop_problem(const PlanLoop& loop) {
  for (const PlanStep& s : loop.body)
    for (bool last : {false, true}) {
      if (last && !loop.has_last) continue;
      std::vector<TensorSpec> in, out;
      const auto spec = [&](int32_t t) {
        const PlanTile& tile = loop.tiles[static_cast<size_t>(t)];
        return last ? tile.last_spec : tile.spec;
      };
      for (int32_t t : s.inputs) in.push_back(t < 0 ? TensorSpec{} : spec(t));
      for (int32_t t : s.outputs) out.push_back(spec(t));
      if (std::string problem = step_problem(s, in, out); !problem.empty()) return problem;
    }
  return {};
}

}  // namespace

std::string calls_problem(const Plan& plan) {
  std::string problem;
  for (size_t i = 0; i < plan.bodies.size() && problem.empty(); ++i) problem = calls_problem(plan.bodies[i]);
  for (size_t i = 0; i < plan.loops.size() && problem.empty(); ++i) problem = loop_problem(plan.loops[i]);
  for (size_t i = 0; i < plan.steps.size() && problem.empty(); ++i) {
    const PlanStep& s = plan.steps[i];
    if (s.loop >= 0 || !s.bodies.empty()) continue;
    std::vector<TensorSpec> in, out;
    for (int32_t t : s.inputs) in.push_back(t < 0 ? TensorSpec{} : plan.tensors[static_cast<size_t>(t)].spec);
    for (int32_t t : s.outputs) out.push_back(plan.tensors[static_cast<size_t>(t)].spec);
    problem = step_problem(s, in, out);
  }
  return problem;
}

}  // namespace hw
