// Running what depends on state alone.
#include "compiler/program/once.h"

#include <algorithm>

#include "autograd/node.h"
#include "base/error.h"
#include "compiler/program/program.h"
#include "core/read_guard.h"
#include "eager/global/global_tensor.h"
#include "plan/same_plan.h"

namespace hw {

const Tensor& ProgramSource::of(const Tensor& whole) const {
  return part < 0 ? whole : hw::parts_of(whole)[static_cast<size_t>(part)];
}
const Tensor& ProgramSource::whole_state() const { return leaf.defined() ? grad_meta(leaf)->grad : tensor; }
const Tensor& ProgramSource::state() const { return of(whole_state()); }

std::optional<OnceGraph> take_once(Graph& graph) {
  const auto found =
      std::find_if(graph.order.begin(), graph.order.end(), [&](NodeId n) { return graph.node(n).op == kOnce; });
  if (found == graph.order.end()) return std::nullopt;
  const Node& node = graph.node(*found);
  OnceGraph once{*node.bodies.at(0), {}};
  for (ValueId v : node.inputs) once.sources.push_back(graph.source_of(v));
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    GraphValue& value = graph.values[static_cast<size_t>(node.outputs[i])];
    value.producer = kNone;
    value.slot = static_cast<int32_t>(graph.sources.size());
    graph.sources.push_back({GraphSource::Kind::State, node.outputs[i], text("once.", i), {}});
  }
  graph.order.erase(found);
  return once;
}

Once::Once(Plan plan, std::vector<PreparedStep> kernels, std::vector<ProgramSource> sources)
    : chain_(std::move(plan), std::move(kernels)), sources_(std::move(sources)), seen_(sources_.size()) {}

bool Once::same(const Plan& plan, std::span<const ProgramSource> sources) const {
  const auto equal = [](const ProgramSource& a, const ProgramSource& b) {
    return a.tensor == b.tensor && a.leaf == b.leaf && a.part == b.part;
  };
  return std::equal(sources.begin(), sources.end(), sources_.begin(), sources_.end(), equal) &&
         plan_difference(plan, chain_.plan()).empty();
}

bool Once::changed() {
  bool any = results_.empty();
  for (size_t i = 0; i < sources_.size(); ++i) {
    const Tensor& t = sources_[i].state();
    const uint32_t version = sources_[i].whole_state().version();
    Seen& seen = seen_[i];
    if (seen.storage == t->storage && seen.data == t.data() && seen.version == version && !t->storage->shared_outside())
      continue;
    seen = {t->storage, t.data(), version};
    any = true;
  }
  return any;
}

const std::vector<Tensor>& Once::results(Workspace& workspace) {
  if (!changed()) return results_;
  const Plan& plan = chain_.plan();
  results_.clear();
  std::vector<const void*> addresses;
  for (const ProgramSource& s : sources_) addresses.push_back(address_for(s.state(), chain_.plan().name));
  std::vector<Ref<Storage>> memory;
  std::vector<void*> outputs;
  for (int64_t bytes : plan.outputs) {
    memory.push_back(make_ref<Storage>(static_cast<size_t>(bytes)));
    outputs.push_back(memory.back()->data());
  }
  chain_.run({addresses, outputs, {}, 0, 0}, workspace.at_least(chain_.memory_bytes()));
  for (int32_t r : plan.results) {
    const PlanTensor& t = plan.tensors[static_cast<size_t>(r)];
    const PlanBuffer& b = plan.buffers[static_cast<size_t>(t.buffer)];
    results_.push_back(Tensor::make(memory[static_cast<size_t>(b.index)], t.spec.dtype, t.spec.shape, t.spec.strides,
                                    t.offset / dtype_size(t.spec.dtype)));
  }
  ++runs_;
  return results_;
}

}  // namespace hw
