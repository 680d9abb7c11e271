// Actors that count and add, for tests.
#pragma once

#include <time.h>

#include <atomic>

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

inline void pause(double seconds) {
  timespec t{static_cast<time_t>(seconds), 0};
  t.tv_nsec = static_cast<long>((seconds - static_cast<double>(t.tv_sec)) * 1e9);
  nanosleep(&t, nullptr);
}

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

}  // namespace hw
