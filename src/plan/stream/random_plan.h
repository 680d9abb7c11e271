// Random plans of actors, for tests.
#pragma once

#include <algorithm>
#include <random>

#include "base/text.h"
#include "plan/stream/stream_plan.h"

namespace hw {

struct RandomPlanOptions {
  int32_t most_actors = 8, most_count = 3;
  bool loops = true;      // registers that lead backwards, with copies readable at the start, or, wrongly, none
  bool none = true;       // counts of zero
  bool one_each = false;  // a stream for each actor
  double most_seconds = 0.01;
};

inline StreamPlan random_plan(std::mt19937& random, const RandomPlanOptions& o = {}) {
  const auto pick = [&](int32_t low, int32_t high) {
    return std::uniform_int_distribution<int32_t>(low, high)(random);
  };
  StreamPlan p;
  p.name = "random";
  const int32_t n = pick(1, o.most_actors), streams = o.one_each ? n : pick(1, n);
  for (int32_t s = 0; s < streams; ++s) p.streams.push_back({text("s", s), "cpu:0", 0, !o.one_each && pick(0, 2) == 0});
  for (int32_t a = 0; a < n; ++a) {
    StreamActor actor;
    actor.name = text("a", a);
    actor.kind = "host";
    actor.stream = o.one_each ? a : pick(0, streams - 1);
    actor.seconds = o.most_seconds * pick(0, 20) / 20;
    p.actors.push_back(actor);
  }
  if (!o.one_each) std::shuffle(p.actors.begin(), p.actors.end(), random);
  for (int32_t a = 0; a + 1 < n; ++a) {
    StreamRegister r;
    r.name = text("r", a);
    r.producer = a;
    for (int32_t c = a + 1; c < n; ++c)
      if (c == a + 1 || pick(0, 2) == 0) r.consumers.push_back(c);
    r.bytes = pick(1, 100);
    r.count = pick(o.none && pick(0, 9) == 0 ? 0 : 1, o.most_count);
    if (o.none && pick(0, 19) == 0) r.count = 0;
    if (r.count > 0 && pick(0, 4) == 0) r.initial = pick(0, r.count);
    p.registers.push_back(r);
    if (!o.loops || pick(0, 3) != 0) continue;
    StreamRegister back{text("b", a), pick(a, n - 1), {a}, 8, pick(1, o.most_count)};
    back.initial = pick(0, back.count);
    p.registers.push_back(back);
  }
  return p;
}

}  // namespace hw
