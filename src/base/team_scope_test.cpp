// Scopes with their own threads and cores, as the team sees them.
#include "base/team_scope.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <thread>

#include "base/team_region.h"
#include "base/thread_team.h"

namespace hw {

namespace {

/// Where the threads of this thread's team may run.
std::vector<std::vector<int32_t>> team_cores(int threads) {
  std::vector<std::vector<int32_t>> out(static_cast<size_t>(threads));
  team_region(threads, [&](int thread, int) { out[static_cast<size_t>(thread)] = usable_cores(); });
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
  const std::vector<int32_t> all = usable_cores();
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
    EXPECT_EQ(usable_cores(), all);  // the caller
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
