// What an actor does when it fires. Each kind of actor is a file in actors/ that registers itself.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/ref.h"
#include "plan/stream/stream_plan.h"

namespace hw {

class Chain;

/// What lies in a copy of a register: memory (Storage), or an object of a language binding.
using Payload = Ref<RefCounted>;

/// The first cause of a run's end.
struct Fault {
  ErrorKind kind = ErrorKind::Runtime;
  std::string message;
  std::string actor, runs, origin;  // filled in by the runtime: whose fault, what it ran, where the user wrote it
  Payload cause;                    // the exception object of a language binding
  std::string text() const;
};

/// How a firing went. Behaviours may also throw hw::Error or any std::exception: that is a fault, too.
struct Fired {
  enum class How : uint8_t {
    Done,  // outputs are filled
    End,   // there is nothing more; outputs are not looked at
    Failed
  };
  How how = How::Done;
  Fault fault{};
};

/// One firing. Inputs stay readable until it ends. `outputs[i]` is what its copy of output i held before, whose memory may be used
/// again, or null; the behaviour puts there what consumers get.
struct FiringView {
  int64_t number = 0;
  std::span<const Payload> inputs;
  std::span<Payload> outputs;
};

class Behaviour : public RefCounted {
 public:
  /// On the thread of the actor's stream, never twice at once.
  virtual Fired fire(FiringView& firing) = 0;
  /// Whether a copy keeps what it held until it is written again.
  virtual bool reuses_memory() const { return false; }
};

/// What the actors of a plan run, which is not data.
struct ActorBinding {
  Ref<Behaviour> call;                      // source, host, sink: the function itself
  std::shared_ptr<Chain> chain;             // compute
  std::vector<const void*> state;           // compute: the sources of the chain behind those that its inputs are
  std::vector<Ref<RefCounted>> keep_alive;  // what `state` points into
};

struct ActorKind {
  const char* name;
  Ref<Behaviour> (*make)(const StreamPlan& plan, int32_t actor, const ActorBinding& binding);
};

/// A kind registers itself by a constant of this type in its file.
struct RegisterActorKind {
  explicit RegisterActorKind(ActorKind kind);
};
/// Null if there is none. The names: for messages.
const ActorKind* find_actor_kind(const std::string& name);
std::string actor_kind_names();

}  // namespace hw
