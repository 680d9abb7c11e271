// Whether a frozen model holds together: what its plans read is there, and nothing that is shared is written.
#include <algorithm>

#include "base/error.h"
#include "plan/frozen.h"
#include "plan/layout.h"

namespace hw {

namespace {

template <class T>
bool inside(int64_t index, const std::vector<T>& list) {
  return index >= 0 && index < static_cast<int64_t>(list.size());
}

bool same_place(const TensorSpec& a, const TensorSpec& b) {
  return a.dtype == b.dtype && a.shape == b.shape && a.strides == b.strides;
}

/// A run may write to its arena and its outputs only: weights are shared and mapped read-only, inputs are the caller's.
std::string write_problem(const Plan& p) {
  for (const Plan& body : p.bodies)
    if (std::string problem = write_problem(body); !problem.empty()) return problem;
  for (const PlanSource& s : p.sources)
    if (s.written) return text("it writes to ", s.name);
  for (const PlanStep& s : p.steps) {
    for (int32_t t : s.outputs) {
      const PlanBuffer& b = p.buffers[static_cast<size_t>(p.tensors[static_cast<size_t>(t)].buffer)];
      if (b.kind == PlanBuffer::Kind::Source || b.kind == PlanBuffer::Kind::Constant)
        return text(s.op, " writes to what it may only read");
    }
    if (s.loop < 0) continue;
    const PlanLoop& loop = p.loops[static_cast<size_t>(s.loop)];
    for (const PlanStep& b : loop.body)
      for (int32_t t : b.outputs) {
        const int32_t operand = loop.tiles[static_cast<size_t>(t)].operand;
        if (operand >= 0 && static_cast<size_t>(operand) < loop.num_inputs)
          return text(b.op, " writes to an input of its loop");
      }
  }
  return {};
}

class FormCheck {
 public:
  FormCheck(const FrozenModel& model, const FrozenForm& form) : m_(model), f_(form) {}

  std::string run() const {
    if (f_.inputs.size() != m_.inputs.size() || f_.outputs.size() != m_.outputs.size())
      return text("it has ", f_.inputs.size(), " inputs and ", f_.outputs.size(), " outputs");
    for (const auto* specs : {&f_.inputs, &f_.outputs})
      for (const TensorSpec& s : *specs)
        if (!s.contiguous() || s.device.type != DeviceType::CPU) return text(s, " is not a contiguous tensor");
    if (f_.plan.num_draws || f_.plan.num_host) return "it needs random numbers, or numbers of the run";
    for (const Plan* p : {&f_.plan, f_.once ? &*f_.once : nullptr})
      if (p)
        if (std::string problem = write_problem(*p); !problem.empty()) return problem;
    std::string problem = once();
    if (problem.empty()) problem = sources();
    if (problem.empty()) problem = results();
    if (problem.empty()) problem = tests(f_.test_inputs, f_.inputs);
    return problem.empty() ? tests(f_.test_outputs, f_.outputs) : problem;
  }

 private:
  std::string once() const {
    if (!f_.once) return f_.once_sources.empty() ? std::string() : "it packs nothing";
    if (f_.once->num_draws || f_.once->num_host) return "packing needs random numbers";
    if (f_.once->sources.size() != f_.once_sources.size()) return "what it packs is not what its plan reads";
    for (size_t i = 0; i < f_.once_sources.size(); ++i) {
      if (!inside(f_.once_sources[i], m_.weights)) return text("there is no weight ", f_.once_sources[i]);
      const TensorSpec have = m_.weights[static_cast<size_t>(f_.once_sources[i])].spec();
      if (!same_place(f_.once->sources[i].spec, have))
        return text("its packing reads ", f_.once->sources[i].spec, " of a weight ", have);
    }
    return {};
  }

  /// What a tie leads to; dtype None if to nothing.
  TensorSpec tied(const FrozenTie& t) const {
    if (t.kind == FrozenTie::Kind::Input && inside(t.index, f_.inputs)) return f_.inputs[static_cast<size_t>(t.index)];
    if (t.kind == FrozenTie::Kind::Weight && inside(t.index, m_.weights))
      return m_.weights[static_cast<size_t>(t.index)].spec();
    if (t.kind == FrozenTie::Kind::Once && f_.once && inside(t.index, f_.once->results))
      return f_.once->tensors[static_cast<size_t>(f_.once->results[static_cast<size_t>(t.index)])].spec;
    return {};
  }

  std::string sources() const {
    const Plan& p = f_.plan;
    if (p.sources.size() != f_.sources.size())
      return text("its plan has ", p.sources.size(), " sources, ", f_.sources.size(), " are tied");
    for (size_t i = 0; i < f_.sources.size(); ++i) {
      const FrozenTie& t = f_.sources[i];
      if (t.kind == FrozenTie::Kind::Unused) continue;
      const TensorSpec have = tied(t);
      if (!have.given()) return text("source ", i, " is tied to nothing");
      if (!same_place(have, p.sources[i].spec)) return text("source ", i, " is ", p.sources[i].spec, ", given ", have);
    }
    const auto unused = [&](int32_t t) {
      if (t < 0) return false;
      const PlanBuffer& b = p.buffers[static_cast<size_t>(p.tensors[static_cast<size_t>(t)].buffer)];
      return b.kind == PlanBuffer::Kind::Source &&
             f_.sources[static_cast<size_t>(b.index)].kind == FrozenTie::Kind::Unused;
    };
    for (const PlanStep& s : p.steps)
      if (std::any_of(s.inputs.begin(), s.inputs.end(), unused)) return text(s.op, " reads what is tied to nothing");
    return {};
  }

  /// Each output fills the whole of a buffer; outputs that are equal may be one buffer.
  std::string results() const {
    const Plan& p = f_.plan;
    if (f_.results.size() != f_.outputs.size() || p.outputs.size() > f_.outputs.size())
      return text("it has ", f_.outputs.size(), " outputs, its plan ", p.outputs.size());
    std::vector<bool> taken(p.outputs.size());
    for (size_t i = 0; i < f_.results.size(); ++i) {
      if (!inside(f_.results[i], p.results)) return text("there is no result ", f_.results[i]);
      const PlanTensor& t = p.tensors[static_cast<size_t>(p.results[static_cast<size_t>(f_.results[i])])];
      const PlanBuffer& b = p.buffers[static_cast<size_t>(t.buffer)];
      const auto at = static_cast<size_t>(b.index);  // plan_problem(): it is an Output buffer
      if (!same_place(t.spec, f_.outputs[i]) || t.offset != 0 || p.outputs[at] != extent_of(f_.outputs[i]))
        return text("output ", i, " is ", f_.outputs[i], ", its plan gives ", t.spec);
      taken[at] = true;
    }
    return std::find(taken.begin(), taken.end(), false) == taken.end() ? "" : "its plan gives more than its outputs";
  }

  static std::string tests(const std::vector<Tensor>& have, const std::vector<TensorSpec>& want) {
    if (have.empty()) return {};
    if (have.size() != want.size()) return text("it has ", have.size(), " test tensors, not ", want.size());
    for (size_t i = 0; i < have.size(); ++i)
      if (have[i].dtype() != want[i].dtype || have[i].shape() != want[i].shape || !have[i].contiguous())
        return text("a test tensor is ", have[i].spec(), ", not ", want[i]);
    return {};
  }

  const FrozenModel& m_;
  const FrozenForm& f_;
};

}  // namespace

std::string frozen_problem(const FrozenModel& model) {
  if (model.forms.empty()) return "it has no plan";
  if (model.weight_names.size() != model.weights.size()) return "some weights have no names";
  for (const auto* names : {&model.inputs, &model.outputs}) {
    std::vector<std::string> sorted = *names;
    std::sort(sorted.begin(), sorted.end());
    if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) return "two inputs or outputs have one name";
  }
  for (size_t i = 0; i < model.forms.size(); ++i)
    if (std::string problem = FormCheck(model, model.forms[i]).run(); !problem.empty())
      return text("shapes ", i, ": ", problem);
  return {};
}

}  // namespace hw
