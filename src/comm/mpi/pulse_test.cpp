// Who counts as lost, and when.
#include "comm/mpi/pulse.h"

#include <gtest/gtest.h>

namespace hw {
namespace {

TEST(CommPulse, ASilentRankIsLostAfterTheLimit) {
  Pulse p;
  p.start(1, 3, 6, 100);
  for (double now = 100; now <= 106; now += 0.5) {
    p.heard(0, now);
    EXPECT_EQ(p.lost(now), -1) << now;
  }
  p.heard(0, 106.5);
  EXPECT_EQ(p.lost(106.5), 2);
}

TEST(CommPulse, WhoSaidThatItEndsIsNotMissed) {
  Pulse p;
  p.start(0, 2, 6, 0);
  p.left(1);
  for (double now = 0; now < 20; ++now) EXPECT_EQ(p.lost(now), -1);
}

TEST(CommPulse, WhoWasStoppedItselfBlamesNobody) {
  Pulse p;
  p.start(0, 2, 6, 0);
  EXPECT_EQ(p.lost(1), -1);
  EXPECT_EQ(p.lost(60), -1);  // this process slept for a minute
  for (double now = 61; now < 66; ++now) EXPECT_EQ(p.lost(now), -1);
  EXPECT_EQ(p.lost(66.5), 1);
}

TEST(CommPulse, BeatsAreEvenlySpaced) {
  Pulse p;
  p.start(0, 2, 6, 0);
  EXPECT_TRUE(p.due(0));
  EXPECT_FALSE(p.due(Pulse::kEvery / 2));
  EXPECT_TRUE(p.due(Pulse::kEvery));
}

TEST(CommPulse, ALimitOfZeroAndAWorldOfOneWatchNobody) {
  Pulse p;
  p.start(0, 2, 0, 0);
  EXPECT_FALSE(p.on());
  p.start(0, 1, 6, 0);
  EXPECT_FALSE(p.on());
}

}  // namespace
}  // namespace hw
