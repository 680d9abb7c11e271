// parallel_for: every index once, whatever the team; what one region wrote the next one and the caller read.
#include "base/thread_team.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "base/team_region.h"
#include "base/team_scope.h"

namespace hw {
namespace {

TEST(ThreadTeam, EveryIndexOnce) {
  for (int threads : {1, 2, 3, 5}) {
    const TeamScope scope(threads, {});
    for (int64_t n : {0, 1, 2, 5, 7, 1000}) {
      std::vector<int> seen(static_cast<size_t>(n), 0);
      parallel_for(n, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) ++seen[static_cast<size_t>(i)];
      });
      EXPECT_EQ(seen, std::vector<int>(static_cast<size_t>(n), 1)) << threads << " threads, " << n;
    }
  }
}

/// Under ThreadSanitizer: that the end of a region comes before the beginning of the next one, with teams of several callers.
TEST(ThreadTeam, RegionsComeOneAfterTheOther) {
  const auto work = [] {
    const TeamScope scope(3, {});
    std::vector<int64_t> values(600, 0);
    for (int round = 0; round < 50; ++round) {
      for (int64_t& v : values) ++v;
      // Other pieces in each round, so that threads read what others wrote.
      parallel_for(600, 150 + round, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) values[static_cast<size_t>(i)] += i;
      });
    }
    for (int64_t i = 0; i < 600; ++i) ASSERT_EQ(values[static_cast<size_t>(i)], 50 + 50 * i);
  };
  std::thread other(work);
  work();
  other.join();
}

TEST(ThreadTeam, ARegionInARegionStaysOnItsThread) {
  std::vector<int64_t> sums(2, 0);
  team_region(2, [&](int thread, int size) {
    for (int t = thread; t < 2; t += size)
      parallel_for(100, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) sums[static_cast<size_t>(t)] += i;
      });
  });
  EXPECT_EQ(sums, (std::vector<int64_t>{4950, 4950}));
}

}  // namespace
}  // namespace hw
