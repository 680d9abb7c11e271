// Placements: uneven parts, empty shards, several splits of one axis, text and back.
#include "sbp/placement.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace hw {
namespace {

TEST(Placement, FirstPartsGetOneMore) {
  EXPECT_EQ(split_part({0, 7}, 3, 0), (Interval{0, 3}));
  EXPECT_EQ(split_part({0, 7}, 3, 1), (Interval{3, 5}));
  EXPECT_EQ(split_part({0, 7}, 3, 2), (Interval{5, 7}));
  EXPECT_EQ(split_part({5, 7}, 4, 3).size(), 0);  // an empty part
}

TEST(Placement, PartsCoverTheRange) {
  for (int64_t size = 0; size < 12; ++size)
    for (int64_t parts = 1; parts < 6; ++parts) {
      int64_t at = 0;
      for (int64_t i = 0; i < parts; ++i) {
        EXPECT_EQ(split_part({0, size}, parts, i).begin, at);
        at = split_part({0, size}, parts, i).end;
      }
      EXPECT_EQ(at, size);
    }
}

TEST(Placement, TwoMeshAxes) {
  Mesh m = make_mesh("cpu", {2, 2});
  const Ints shape{5, 3};
  Placement grid = make_placement(m, {split(0), split(-1)}, 2);
  EXPECT_EQ(local_shape(grid, shape, 0), (Ints{3, 2}));
  EXPECT_EQ(local_shape(grid, shape, 3), (Ints{2, 1}));
  Placement twice = make_placement(m, {split(0), split(0)}, 2);  // 5 rows: 3 and 2, then 2, 1, 1, 1
  Ints rows;
  for (int64_t p = 0; p < 4; ++p) rows.push_back(local_shape(twice, shape, p)[0]);
  EXPECT_EQ(rows, (Ints{2, 1, 1, 1}));
  Placement mixed = make_placement(m, {broadcast(), partial_sum()}, 2);
  EXPECT_EQ(local_shape(mixed, shape, 2), shape);
  EXPECT_TRUE(mixed.has_partial());
  EXPECT_TRUE(without_partial(mixed).is_whole());
}

TEST(Placement, Refusals) {
  Mesh m = make_mesh("cpu", {2, 2});
  EXPECT_THROW(make_placement(m, {split(0)}, 2), Error);
  EXPECT_THROW(make_placement(m, {split(2), broadcast()}, 2), Error);
  EXPECT_THROW(make_placement(m, {split(0), broadcast()}, 0), Error);
}

TEST(Placement, TextAndBack) {
  for (const Mesh& m : {make_mesh("cpu", {2, 3}, {"data", "model"}), make_mesh("cpu", {1, 2}, {}, {7, 3}),
                        make_mesh("cpu", {3, 1}, {"a", "b"}, {4, 5, 6})})
    for (const Sbp& s : {split(12), broadcast(), partial_sum(), partial_max(), partial_min()}) {
      Placement p{m, {s, split(0)}};
      EXPECT_EQ(parse_placement(text(p)), p) << text(p);
    }
  for (const char* bad : {"", "cpu", "cpu[a=2]", "cpu[a=2] [S]", "cpu[a=2] [B, B]", "cpu[a=2] [B] ", "cpu[a=x] [B]"})
    EXPECT_THROW(parse_placement(bad), Error) << bad;
}

}  // namespace
}  // namespace hw
