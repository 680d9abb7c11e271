// An actor that runs a chain: its inputs are the chain's first sources, its outputs the chain's output buffers.
#include "chain/chain.h"
#include "core/allocator.h"
#include "runtime/behaviour.h"

namespace hw {

namespace {

class Compute final : public Behaviour {
 public:
  Compute(const ActorBinding& binding, size_t inputs)
      : chain_(binding.chain), keep_alive_(binding.keep_alive), num_inputs_(inputs) {
    sources_.resize(num_inputs_);
    sources_.insert(sources_.end(), binding.state.begin(), binding.state.end());
    outputs_.resize(chain_->plan().outputs.size());
    arena_ = make_ref<Storage>(std::max<size_t>(chain_->memory_bytes(), 64));
  }
  Fired fire(FiringView& firing) override {
    for (size_t i = 0; i < num_inputs_; ++i) {
      const auto* in = dynamic_cast<const Storage*>(firing.inputs[i].get());
      if (!in) fail(ErrorKind::Value, "input ", i, " of a chain holds no memory");
      sources_[i] = in->data();
    }
    for (size_t o = 0; o < outputs_.size(); ++o) {
      if (!firing.outputs[o]) firing.outputs[o] = make_ref<Storage>(static_cast<size_t>(chain_->plan().outputs[o]));
      outputs_[o] = static_cast<Storage&>(*firing.outputs[o]).data();
    }
    chain_->run({sources_, outputs_, {}, 0, 0}, arena_->data());
    return {};
  }
  bool reuses_memory() const override { return true; }

 private:
  std::shared_ptr<Chain> chain_;
  std::vector<Ref<RefCounted>> keep_alive_;
  size_t num_inputs_;
  std::vector<const void*> sources_;
  std::vector<void*> outputs_;
  Ref<Storage> arena_;
};

}  // namespace

static Ref<Behaviour> make_compute(const StreamPlan& plan, int32_t actor, const ActorBinding& binding) {
  const StreamActor& a = plan.actors[static_cast<size_t>(actor)];
  check(binding.chain != nullptr, "actor '", a.name, "' computes: it needs a chain");
  const Plan& program = binding.chain->plan();
  check(program.num_draws == 0 && program.num_host == 0, "actor '", a.name,
        "': a chain that draws random numbers or takes numbers from the host cannot be an actor yet");
  size_t inputs = 0, outputs = 0;
  for (const StreamRegister& r : plan.registers) {
    if (r.producer == actor) {
      check(outputs < program.outputs.size() && r.bytes >= program.outputs[outputs], "register '", r.name, "' of ",
            r.bytes, " bytes does not fit output ", outputs, " of '", program.name, "'");
      ++outputs;
    }
    for (int32_t consumer : r.consumers) inputs += consumer == actor;
  }
  check(outputs == program.outputs.size() && inputs + binding.state.size() == program.sources.size(), "actor '", a.name,
        "' has ", inputs, " inputs, ", binding.state.size(), " state tensors and ", outputs, " outputs; its chain has ",
        program.sources.size(), " sources and ", program.outputs.size(), " outputs");
  return make_ref<Compute>(binding, inputs);
}

static const RegisterActorKind compute({"compute", make_compute});

}  // namespace hw
