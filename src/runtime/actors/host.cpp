// Actors that call a function: "source" gives values until it says that there are no more, "host" makes values of values, "sink"
// takes them.
#include "runtime/behaviour.h"

namespace hw {

static Ref<Behaviour> make(const StreamPlan& plan, int32_t actor, const ActorBinding& binding, bool inputs,
                           bool outputs) {
  const StreamActor& a = plan.actors[static_cast<size_t>(actor)];
  check(static_cast<bool>(binding.call), "actor '", a.name, "' of kind '", a.kind, "' needs a function to call");
  for (const StreamRegister& r : plan.registers) {
    check(outputs || r.producer != actor, "actor '", a.name, "' is a ", a.kind, " and cannot write register '", r.name,
          "'");
    for (int32_t consumer : r.consumers)
      check(inputs || consumer != actor, "actor '", a.name, "' is a ", a.kind, " and cannot read register '", r.name,
            "'");
  }
  return binding.call;
}

static Ref<Behaviour> make_source(const StreamPlan& plan, int32_t actor, const ActorBinding& binding) {
  return make(plan, actor, binding, false, true);
}
static Ref<Behaviour> make_host(const StreamPlan& plan, int32_t actor, const ActorBinding& binding) {
  return make(plan, actor, binding, true, true);
}
static Ref<Behaviour> make_sink(const StreamPlan& plan, int32_t actor, const ActorBinding& binding) {
  return make(plan, actor, binding, true, false);
}

static const RegisterActorKind source({"source", make_source});
static const RegisterActorKind host({"host", make_host});
static const RegisterActorKind sink({"sink", make_sink});

}  // namespace hw
