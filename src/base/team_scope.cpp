// Threads and cores of a scope: a number of this thread, and sched_setaffinity by each thread of the OpenMP team.
#include "base/team_scope.h"

#include <omp.h>
#include <sched.h>

#include <algorithm>
#include <atomic>

#include "base/error.h"
#include "base/team_region.h"
#include "base/thread_team.h"

namespace hw {

namespace {

/// What the team of this thread was told last. OpenMP keeps a team for each thread that forks one, and ends threads that a smaller team
/// leaves over, so a team of another size has to be told again.
struct Told {
  uint64_t cores = 0;
  int threads = 0;
  cpu_set_t before;  // of the thread that forks
};

thread_local int t_threads = 0;
thread_local Told t_told;

void bind_this_thread(const std::vector<int32_t>& cores, size_t i) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<size_t>(cores[i % cores.size()]), &set);
  sched_setaffinity(0, sizeof set, &set);
}

}  // namespace

std::vector<int32_t> usable_cores() {
  std::vector<int32_t> out;
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return out;
  for (int32_t c = 0; c < CPU_SETSIZE; ++c)
    if (CPU_ISSET(static_cast<size_t>(c), &set)) out.push_back(c);
  return out;
}

TeamCores::TeamCores(std::span<const int32_t> cores) : cores_(cores.begin(), cores.end()) {
  static std::atomic<uint64_t> made{0};
  const std::vector<int32_t> usable = usable_cores();
  for (int32_t c : cores_)
    check(c >= 0 && c < CPU_SETSIZE && (usable.empty() || std::find(usable.begin(), usable.end(), c) != usable.end()),
          "core ", c, " is none that this process may use");
  if (!cores_.empty()) number_ = ++made;
}

TeamScope::TeamScope(int threads, const TeamCores& cores) : before_(t_threads), openmp_before_(omp_get_max_threads()) {
  if (threads > 0) {
    t_threads = threads;
    omp_set_num_threads(threads);
  }
  const int team = num_threads();
  Told& told = t_told;
  if (cores.empty()) {
    if (told.cores == 0) return;
    const cpu_set_t set = told.before;
    team_region(team, [&](int, int) { sched_setaffinity(0, sizeof set, &set); });
    told.cores = 0;
    return;
  }
  sched_getaffinity(0, sizeof told.before, &told.before);
  bound_ = true;
  if (told.cores == cores.number() && told.threads == team) {
    bind_this_thread(cores.list(), 0);
    return;
  }
  team_region(team, [&](int thread, int) { bind_this_thread(cores.list(), static_cast<size_t>(thread)); });
  told.cores = cores.number();
  told.threads = team;
}

TeamScope::~TeamScope() {
  if (bound_) sched_setaffinity(0, sizeof t_told.before, &t_told.before);
  t_threads = before_;
  omp_set_num_threads(openmp_before_);
}

bool team_has_cores() { return t_told.cores != 0; }
int scoped_threads() { return t_threads; }

}  // namespace hw
