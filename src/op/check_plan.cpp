// Checking the calls of a plan against the declarations of their operators.
#include "op/check_plan.h"

#include "base/error.h"
#include "ir/graph.h"
#include "op/node_call.h"
#include "op/rules.h"
#include "plan/calls.h"

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

}  // namespace

std::string calls_problem(const Plan& plan) {
  return first_problem(plan, [](const PlanCall& c) { return step_problem(c.step, c.inputs, c.outputs); });
}

}  // namespace hw
