// An actor that copies memory: its input ends where its output begins, so that the input is free early.
#include <cstring>

#include "core/tensor.h"
#include "runtime/behaviour.h"

namespace hw {

namespace {

class Copy final : public Behaviour {
 public:
  explicit Copy(int64_t bytes) : bytes_(static_cast<size_t>(bytes)) {}
  Fired fire(FiringView& firing) override {
    const auto* from = dynamic_cast<const Storage*>(firing.inputs[0].get());
    if (!from || from->bytes() < bytes_)
      return {Fired::How::Failed,
              {ErrorKind::Value,
               text("it copies ", bytes_, " bytes, its input holds ", from ? from->bytes() : 0),
               {},
               {},
               {},
               {}}};
    if (!firing.outputs[0]) firing.outputs[0] = make_ref<Storage>(bytes_);
    std::memcpy(static_cast<Storage&>(*firing.outputs[0]).data(), from->data(), bytes_);
    return {};
  }
  bool reuses_memory() const override { return true; }

 private:
  size_t bytes_;
};

}  // namespace

static Ref<Behaviour> make_copy(const StreamPlan& plan, int32_t actor, const ActorBinding&) {
  int64_t bytes = -1;
  int inputs = 0, outputs = 0;
  for (const StreamRegister& r : plan.registers) {
    if (r.producer == actor) ++outputs, bytes = r.bytes;
    for (int32_t consumer : r.consumers) inputs += consumer == actor;
  }
  check(inputs == 1 && outputs == 1, "actor '", plan.actors[static_cast<size_t>(actor)].name,
        "' copies: it needs one input and one output, has ", inputs, " and ", outputs);
  return make_ref<Copy>(bytes);
}

static const RegisterActorKind copy({"copy", make_copy});

}  // namespace hw
