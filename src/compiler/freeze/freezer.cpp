// Compiling for a file: plans as in program/, sources tied to inputs, weights and packed weights.
#include "compiler/freeze/freezer.h"

#include <algorithm>

#include "base/error.h"
#include "base/hash.h"
#include "compiler/program/plan_for.h"
#include "compiler/steady.h"
#include "core/read_guard.h"
#include "plan/check.h"
#include "plan/layout.h"

namespace hw {

Freezer::Freezer(std::string name, std::string producer, std::vector<std::string> inputs,
                 std::vector<std::string> outputs, bool packed)
    : packed_(packed) {
  model_.name = std::move(name);
  model_.inputs = std::move(inputs);
  model_.outputs = std::move(outputs);
  model_.producer = std::move(producer);
}

/// The number of the weight with this content.
int32_t Freezer::weight(const Tensor& t, const std::string& name) {
  const TensorSpec spec = t.spec();
  const std::string key =
      text(hex(hash128(address_for(t, name), static_cast<size_t>(extent_of(spec)))), " ", spec, " ", spec.strides);
  const auto [at, is_new] = known_.try_emplace(key, static_cast<int32_t>(model_.weights.size()));
  if (is_new) {
    model_.weights.push_back(t);
    model_.weight_names.push_back(name);
  }
  return at->second;
}

namespace {

void check_freezable(const ProgramParts& parts) {
  for (NodeId n : parts.graph.order)
    check(parts.graph.node(n).op != "_exchange",
          "the model's ranks lie in several processes, but a frozen model is for one device; take what is on a mesh "
          "whole first, with full()");
  check(gives_outputs_only(parts.graph), "the model changes its state when it is called, or sets gradients; ",
        "a frozen model does neither. Call eval() on what does it, or leave it out of the function");
  check(parts.graph.num_draws == 0, "the model draws random numbers, which a frozen model does not");
  check(parts.graph.num_host == 0, "the model reads numbers of the optimiser, which a frozen model does not");
  for (const Capture::Output& o : parts.outputs)
    check(o.source == kNone, "an output and an input or a weight share memory");
}

/// Which sources the steps read.
std::vector<bool> read_sources(const Plan& plan) {
  std::vector<bool> read(plan.sources.size());
  for (const PlanStep& s : plan.steps)
    for (int32_t t : s.inputs) {
      if (t < 0) continue;
      const PlanBuffer& b = plan.buffers[static_cast<size_t>(plan.tensors[static_cast<size_t>(t)].buffer)];
      if (b.kind == PlanBuffer::Kind::Source) read[static_cast<size_t>(b.index)] = true;
    }
  return read;
}

}  // namespace

/// The results of what runs once.
Tensors Freezer::packed_weights(const ProgramParts& parts, ProgramPlan& made) {
  Chain chain(*made.once);
  std::vector<const void*> from;
  for (int32_t s : made.once_sources)
    from.push_back(address_for(parts.sources[static_cast<size_t>(s)].state(), "a weight"));
  std::vector<Ref<Storage>> memory;
  std::vector<void*> to;
  for (int64_t bytes : chain.plan().outputs)
    to.push_back(memory.emplace_back(make_ref<Storage>(static_cast<size_t>(bytes)))->data());
  const Storage work(std::max<size_t>(chain.memory_bytes(), 64));
  chain.run({from, to, {}, 0, 0}, work.data());
  Tensors results;
  for (int32_t r : chain.plan().results) {
    const PlanTensor& t = chain.plan().tensors[static_cast<size_t>(r)];
    const auto buffer = static_cast<size_t>(chain.plan().buffers[static_cast<size_t>(t.buffer)].index);
    results.push_back(
        Tensor::make(memory[buffer], t.spec.dtype, t.spec.shape, t.spec.strides, t.offset / dtype_size(t.spec.dtype)));
  }
  return results;
}

void Freezer::add(const ProgramParts& parts) {
  check_freezable(parts);
  PipelineOptions options;
  options.pass.frozen = true;
  ProgramPlan made = plan_for(parts.graph, options);
  FrozenForm form;
  const std::vector<bool> read = read_sources(made.plan);
  size_t at = 0;
  for (size_t i = 0; i < parts.graph.sources.size(); ++i) {
    const GraphSource& s = parts.graph.sources[i];
    if (s.kind == GraphSource::Kind::Constant) continue;
    FrozenTie tie;
    if (s.kind == GraphSource::Kind::Input) {
      form.inputs.push_back(parts.graph.spec(s.value));
      if (read[at]) tie = {FrozenTie::Kind::Input, static_cast<int32_t>(form.inputs.size() - 1)};
    } else if (read[at]) {
      tie = {FrozenTie::Kind::Weight, weight(parts.sources[i].state(), s.name)};
    }
    form.sources.push_back(tie);
    ++at;
  }
  const Tensors results = made.once && packed_ ? packed_weights(parts, made) : Tensors();
  for (int32_t i = 0; at < made.plan.sources.size(); ++at, ++i) {
    FrozenTie tie;
    if (read[at] && packed_)
      tie = {FrozenTie::Kind::Weight, weight(results[static_cast<size_t>(i)], text("packed.", i))};
    else if (read[at])
      tie = {FrozenTie::Kind::Once, i};
    form.sources.push_back(tie);
  }
  if (made.once && !packed_) {
    for (int32_t s : made.once_sources)
      form.once_sources.push_back(
          weight(parts.sources[static_cast<size_t>(s)].state(), parts.graph.sources[static_cast<size_t>(s)].name));
    form.once = std::move(made.once);
  }
  for (size_t i = 0; i < made.plan.results.size(); ++i) {
    const PlanTensor& t = made.plan.tensors[static_cast<size_t>(made.plan.results[i])];
    const auto buffer = static_cast<size_t>(made.plan.buffers[static_cast<size_t>(t.buffer)].index);
    check(t.offset == 0 && t.spec.contiguous() && made.plan.outputs[buffer] == extent_of(t.spec),
          "two outputs share memory");
    form.outputs.push_back(t.spec);
    form.results.push_back(static_cast<int32_t>(i));
  }
  form.plan = std::move(made.plan);
  model_.forms.push_back(std::move(form));
  if (std::string problem = frozen_problem(model_); !problem.empty()) {
    model_.forms.pop_back();
    bug("the frozen model ", model_.name, ": ", problem);
  }
}

void Freezer::add_test(Tensors inputs, Tensors outputs) {
  FrozenForm& form = model_.forms.back();
  form.test_inputs = std::move(inputs);
  form.test_outputs = std::move(outputs);
  if (std::string problem = frozen_problem(model_); !problem.empty())
    fail(ErrorKind::Value, "the frozen model ", model_.name, ": ", problem);
}

}  // namespace hw
