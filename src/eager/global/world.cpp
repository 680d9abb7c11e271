// Who hosts which rank.
#include "eager/global/world.h"

#include <algorithm>

#include "base/error.h"
#include "eager/global_hook.h"

namespace hw {

World& world() {
  static World w;
  return w;
}

void Messenger::wait(std::span<const Request> requests) {
  for (const Request& r : requests) throw_unless_ok(r->wait());
}

static void set_ranks(World& w, int64_t ranks) {
  check(ranks % w.processes == 0, ranks, " ranks do not divide among ", w.processes,
        " processes; give the mesh a multiple of that many ranks, or start another number of processes");
  w.ranks_each = ranks / w.processes;
}

void join_world(int process, int processes, int64_t ranks, std::unique_ptr<Messenger> messenger) {
  World& w = world();
  check_runtime(w.processes == 1 && !global_hook(),
                "a process joins others once, before it makes its first global tensor");
  check(processes > 0 && process >= 0 && process < processes, "process ", process, " of ", processes,
        " does not exist");
  w.process = process;
  w.processes = processes;
  w.messenger = std::move(messenger);
  if (ranks) set_ranks(w, ranks);
}

Ints hosted_positions(const Mesh& mesh) {
  if (is_meta(mesh)) return {};
  World& w = world();
  const int64_t most = *std::max_element(mesh.ranks.begin(), mesh.ranks.end());
  if (!w.ranks_each && w.processes > 1) set_ranks(w, most + 1);
  check(w.processes == 1 || most < w.ranks_each * w.processes, "the mesh ", mesh, " has rank ", most, ", but the ",
        w.processes, " processes host ", w.ranks_each * w.processes,
        " ranks, as the first mesh said; make the largest mesh first");
  Ints here;
  for (int64_t p = 0; p < mesh.size(); ++p)
    if (w.process_of(mesh.ranks[static_cast<size_t>(p)]) == w.process) here.push_back(p);
  return here;
}

Mesh one_rank_each() {
  const World& w = world();
  Ints ranks;
  for (int p = 0; p < w.processes; ++p) ranks.push_back(p * w.ranks_each);
  return make_mesh("cpu", {w.processes}, {"process"}, std::move(ranks));
}

}  // namespace hw
