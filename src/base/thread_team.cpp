// parallel_for over OpenMP; see the header.
#include "base/thread_team.h"

#include <omp.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>

#include "base/flags.h"
#include "base/team_region.h"
#include "base/team_scope.h"

namespace hw {

static std::atomic<bool> g_forked{false};

static int default_threads() {
  pthread_atfork(nullptr, nullptr, [] { g_forked.store(true); });
  for (const char* name : {"HEADWATER_NUM_THREADS", "OMP_NUM_THREADS"})
    if (int64_t n = flag_int(name, 0); n > 0) return static_cast<int>(std::min<int64_t>(n, 1024));
  return std::max(1, static_cast<int>(usable_cores().size()));
}

static std::atomic<int>& team_size() {
  static std::atomic<int> n{default_threads()};
  return n;
}

int num_threads() {
  const int scoped = scoped_threads();
  const int n = scoped > 0 ? scoped : team_size().load(std::memory_order_relaxed);
  return g_forked.load(std::memory_order_relaxed) ? 1 : n;
}

void set_num_threads(int n) {
  team_size().store(std::max(1, n), std::memory_order_relaxed);
  omp_set_num_threads(num_threads());
}

int64_t parallel_pieces(int64_t n, int64_t grain) {
  if (n <= 0) return 0;
  int64_t by_grain = grain > 0 ? (n + grain - 1) / grain : n;
  const int scoped = scoped_threads();
  return std::min<int64_t>(by_grain, scoped > 0 ? scoped : team_size().load(std::memory_order_relaxed));
}

void parallel_for(int64_t n, int64_t grain, FunctionRef<void(int64_t, int64_t)> body) {
  int64_t pieces = parallel_pieces(n, grain);
  if (pieces <= 0) return;
  int64_t per = (n + pieces - 1) / pieces;
  if (pieces == 1 || omp_in_parallel() || g_forked.load(std::memory_order_relaxed)) {
    for (int64_t begin = 0; begin < n; begin += per) body(begin, std::min(n, begin + per));
    return;
  }
  team_region(static_cast<int>(pieces), [&](int thread, int size) {
    for (int64_t i = thread; i * per < n; i += size) body(i * per, std::min(n, (i + 1) * per));
  });
}

}  // namespace hw
