// An actor on the caller's stream that keeps what it reads until the caller takes it.
#include "runtime/outlet.h"

namespace hw {

namespace {

class Outlet final : public Behaviour {
 public:
  Fired fire(FiringView& firing) override {
    values.assign(firing.inputs.begin(), firing.inputs.end());
    full = true;
    return {};
  }
  std::vector<Payload> values;
  bool full = false;
};

}  // namespace

bool is_outlet(const Behaviour& behaviour) { return dynamic_cast<const Outlet*>(&behaviour); }
bool outlet_has(const Behaviour& outlet) { return static_cast<const Outlet&>(outlet).full; }
std::vector<Payload> outlet_take(Behaviour& outlet) {
  auto& o = static_cast<Outlet&>(outlet);
  o.full = false;
  return std::move(o.values);
}

static Ref<Behaviour> make_outlet(const StreamPlan& plan, int32_t actor, const ActorBinding&) {
  for (const StreamRegister& r : plan.registers)
    check(r.producer != actor, "actor '", plan.actors[static_cast<size_t>(actor)].name,
          "' is an outlet and cannot write register '", r.name, "'");
  return make_ref<Outlet>();
}

static const RegisterActorKind outlet({"outlet", make_outlet});

}  // namespace hw
