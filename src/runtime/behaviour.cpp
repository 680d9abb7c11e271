// The kinds of actors that there are.
#include "runtime/behaviour.h"

namespace hw {

static std::vector<ActorKind>& kinds() {
  static std::vector<ActorKind> list;  // filled before main, then only read
  return list;
}

RegisterActorKind::RegisterActorKind(ActorKind kind) { kinds().push_back(kind); }

const ActorKind* find_actor_kind(const std::string& name) {
  for (const ActorKind& k : kinds())
    if (name == k.name) return &k;
  return nullptr;
}

std::string actor_kind_names() {
  std::string out;
  for (const ActorKind& k : kinds()) out += hw::text(out.empty() ? "" : ", ", k.name);
  return out;
}

std::string Fault::text() const {
  std::string out = hw::text("actor '", actor, "'");
  if (!runs.empty() && runs != actor) out += hw::text(" (", runs, ")");
  if (!origin.empty()) out += hw::text(" of ", origin);
  return hw::text(out, ": ", message);
}

}  // namespace hw
