// Functions for the actors of the runtime's tests.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

#include "plan/stream/random_plan.h"
#include "runtime/run.h"

namespace hw {

struct Number : RefCounted {
  explicit Number(int64_t v) : value(v) { ++alive; }
  ~Number() override { --alive; }
  int64_t value;
  static inline std::atomic<int64_t> alive{0};
};

inline int64_t number_of(const Payload& p) { return p ? static_cast<const Number&>(*p).value : 0; }

/// Any callable that takes a FiringView& and gives a Fired.
template <class F>
class Called final : public Behaviour {
 public:
  explicit Called(F f) : f_(std::move(f)) {}
  Fired fire(FiringView& firing) override { return f_(firing); }

 private:
  F f_;
};
template <class F>
ActorBinding calls(F f) {
  ActorBinding b;
  b.call = make_ref<Called<F>>(std::move(f));
  return b;
}

/// Gives 0, 1, ... below `count`; -1: without end.
inline ActorBinding counting(int64_t count) {
  return calls([count](FiringView& f) -> Fired {
    if (f.number == count) return {Fired::How::End};
    for (Payload& o : f.outputs) o = make_ref<Number>(f.number);
    return {};
  });
}

inline void pause(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

/// The sum of what it reads, after a pause.
inline ActorBinding adding(double seconds = 0) {
  return calls([seconds](FiringView& f) -> Fired {
    if (seconds > 0) pause(seconds);
    int64_t sum = 0;
    for (const Payload& in : f.inputs) sum += number_of(in);
    for (Payload& o : f.outputs) o = make_ref<Number>(sum);
    return {};
  });
}

/// Stages one after the other, each on a stream of its own, "source" to "sink".
inline StreamPlan line_of(int32_t stages, int32_t count) {
  StreamPlan p;
  p.name = "line";
  for (int32_t i = 0; i < stages; ++i) {
    p.streams.push_back({text("thread", i), "cpu:0", 0, false});
    StreamActor a;
    a.name = text("stage", i);
    a.kind = i == 0 ? "source" : i + 1 == stages ? "sink" : "host";
    a.stream = i;
    a.runs = text("function", i);
    a.origin = text("file.py:", i);
    p.actors.push_back(a);
    StreamRegister r;
    r.name = text("r", i);
    r.producer = i - 1;
    r.consumers = {i};
    r.count = count;
    if (i > 0) p.registers.push_back(r);
  }
  return p;
}

}  // namespace hw
