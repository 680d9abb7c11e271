// Whether a plan of actors holds together.
#include "plan/stream/stream_plan.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace hw {

static std::string actor_problem(const StreamPlan& plan, const StreamActor& a) {
  const auto within = [](int32_t i, size_t n) { return i >= 0 && static_cast<size_t>(i) < n; };
  if (!within(a.stream, plan.streams.size())) return "is on no stream of the plan";
  if (a.link != -1 && !within(a.link, plan.links.size())) return "uses a link that is not in the plan";
  if (!std::isfinite(a.seconds) || a.seconds < 0 || a.seconds > 1e6)
    return text("takes ", a.seconds, " seconds; expected 0 to 1e6");
  if (a.arena_bytes < 0 || a.link_bytes < 0) return "has a negative number of bytes";
  return {};
}

static std::string register_problem(const StreamPlan& plan, const StreamRegister& r) {
  const auto actor = [&](int32_t i) { return i >= 0 && static_cast<size_t>(i) < plan.actors.size(); };
  if (!actor(r.producer)) return "has no producer in the plan";
  if (r.consumers.empty()) return "has no consumer: its copies would never be free again";
  for (size_t i = 0; i < r.consumers.size(); ++i) {
    if (!actor(r.consumers[i])) return "has a consumer that is not in the plan";
    if (std::find(r.consumers.begin(), r.consumers.begin() + static_cast<std::ptrdiff_t>(i), r.consumers[i]) !=
        r.consumers.begin() + static_cast<std::ptrdiff_t>(i))
      return text("has the consumer '", plan.actors[static_cast<size_t>(r.consumers[i])].name, "' twice");
  }
  if (r.bytes < 0) return "has a negative number of bytes";
  if (r.count < 0 || r.count > (1 << 20)) return text("has ", r.count, " copies; expected 0 to 1048576");
  if (r.initial < 0 || r.initial > r.count)
    return text("has ", r.initial, " copies readable at the start, but ", r.count, " copies in all");
  return {};
}

std::string stream_plan_problem(const StreamPlan& plan) {
  for (const StreamActor& a : plan.actors)
    if (std::string p = actor_problem(plan, a); !p.empty()) return text("actor '", a.name, "' ", p);
  for (const StreamRegister& r : plan.registers)
    if (std::string p = register_problem(plan, r); !p.empty()) return text("register '", r.name, "' ", p);
  return {};
}

}  // namespace hw
