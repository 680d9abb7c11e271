// Scopes with their own threads and cores, as the team sees them.
#include "base/team_scope.h"

#include <gtest/gtest.h>
#include <omp.h>
#include <sched.h>

#include <thread>

#include "base/thread_team.h"

namespace hw {

namespace {

std::vector<int32_t> usable() {
  cpu_set_t set;
  sched_getaffinity(0, sizeof set, &set);
  std::vector<int32_t> out;
  for (int32_t c = 0; c < CPU_SETSIZE; ++c)
    if (CPU_ISSET(static_cast<size_t>(c), &set)) out.push_back(c);
  return out;
}

/// Where the threads of this thread's team may run.
std::vector<std::vector<int32_t>> team_cores(int threads) {
  std::vector<std::vector<int32_t>> out(static_cast<size_t>(threads));
#pragma omp parallel num_threads(threads)
  out[static_cast<size_t>(omp_get_thread_num())] = usable();
  return out;
}

TEST(TeamScope, AScopeHasItsOwnNumberOfThreads) {
  const int before = num_threads();
  {
    const TeamScope scope(3, {});
    EXPECT_EQ(num_threads(), 3);
    EXPECT_EQ(omp_get_max_threads(), 3);
    EXPECT_EQ(parallel_pieces(1000, 1), 3);
    {
      const TeamScope inner(1, {});
      EXPECT_EQ(num_threads(), 1);
    }
    EXPECT_EQ(num_threads(), 3);
    std::thread([&] { EXPECT_EQ(num_threads(), before); }).join();
  }
  EXPECT_EQ(num_threads(), before);
}

TEST(TeamScope, AScopeBindsTheTeamAndLetsTheCallerGo) {
  const std::vector<int32_t> all = usable();
  if (all.size() < 2) GTEST_SKIP() << "one core";
  const std::vector<int32_t> first{all[0]}, last{all.back()};
  const TeamCores cores(std::vector<int32_t>{all.back(), all[0]});
  const TeamCores one(last);
  std::thread([&] {
    {
      const TeamScope scope(2, cores);
      const auto seen = team_cores(2);
      EXPECT_EQ(seen[0], last);
      EXPECT_EQ(seen[1], first);
    }
    EXPECT_EQ(usable(), all);  // the caller
    EXPECT_TRUE(team_has_cores());
    {
      const TeamScope scope(2, one);
      EXPECT_EQ(team_cores(2), (std::vector<std::vector<int32_t>>{last, last}));
    }
    {
      const TeamScope scope(2, {});
      EXPECT_EQ(team_cores(2), (std::vector<std::vector<int32_t>>{all, all}));
    }
    EXPECT_FALSE(team_has_cores());
  }).join();
}

}  // namespace

}  // namespace hw
