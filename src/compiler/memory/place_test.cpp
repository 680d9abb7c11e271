// Placement of blocks in the arena: sound, close to the bound, the same each time.
#include "compiler/memory/place.h"

#include <gtest/gtest.h>

#include <random>

namespace hw {
namespace {

int64_t end_of(const Placement& p, std::span<const Block> blocks, size_t i) { return p.offsets[i] + blocks[i].bytes; }

void expect_sound(const Placement& p, std::span<const Block> blocks) {
  ASSERT_EQ(p.offsets.size(), blocks.size());
  for (size_t i = 0; i < blocks.size(); ++i) {
    EXPECT_EQ(p.offsets[i] % 64, 0);
    EXPECT_LE(end_of(p, blocks, i), p.bytes);
    for (size_t j = 0; j < i; ++j) {
      const bool together = blocks[i].first <= blocks[j].last && blocks[j].first <= blocks[i].last;
      EXPECT_TRUE(!together || end_of(p, blocks, i) <= p.offsets[j] || end_of(p, blocks, j) <= p.offsets[i]);
    }
  }
  EXPECT_GE(p.bytes, p.lower_bound);
}

TEST(Place, ThreeLayersWithScratchReachTheBound) {
  // Two outputs that live on to the next step, and the scratch of each: every order by size or length leaves a gap.
  const std::vector<Block> blocks = {
      {64 << 10, 0, 1}, {64 << 10, 1, 2}, {110 << 10, 0, 0}, {72 << 10, 1, 1}, {85 << 10, 2, 2}};
  const Placement p = place_blocks(blocks);
  expect_sound(p, blocks);
  EXPECT_EQ(p.bytes, 200 << 10);
  EXPECT_EQ(p.lower_bound, 200 << 10);
  EXPECT_EQ(place_blocks(blocks).offsets, p.offsets);
}

TEST(Place, RandomBlocksAreCloseToTheBound) {
  std::mt19937 dice(7);
  double excess = 0;
  for (int round = 0; round < 20; ++round) {
    std::vector<Block> blocks;
    for (int i = 0; i < 60; ++i) {
      const int32_t first = static_cast<int32_t>(dice() % 40);
      blocks.push_back({static_cast<int64_t>(dice() % 5000), first, first + static_cast<int32_t>(dice() % 12)});
    }
    const Placement p = place_blocks(blocks);
    expect_sound(p, blocks);
    excess += static_cast<double>(p.bytes) / static_cast<double>(p.lower_bound) - 1;
  }
  EXPECT_LT(excess / 20, 0.01);
}

TEST(Place, NothingNeedsNothing) {
  EXPECT_EQ(place_blocks({}).bytes, 0);
  const std::vector<Block> empty = {{0, 0, 3}, {0, 1, 2}};
  EXPECT_EQ(place_blocks(empty).bytes, 0);
}

}  // namespace
}  // namespace hw
