// Meshes: positions, parts, what is refused.
#include "sbp/mesh.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace hw {
namespace {

TEST(Mesh, PositionsAndCoordinates) {
  Mesh m = make_mesh("cpu", {2, 3}, {"data", "model"}, {10, 11, 12, 20, 21, 22});
  EXPECT_EQ(m.coordinates(4), (Ints{1, 1}));
  for (int64_t p = 0; p < m.size(); ++p) EXPECT_EQ(m.position_at(m.coordinates(p)), p);
  EXPECT_EQ(m.position_of(21), 4);
  EXPECT_EQ(m.position_of(0), -1);
  EXPECT_EQ(m.axis_of("model"), 1);
}

TEST(Mesh, Parts) {
  Mesh m = make_mesh("cpu", {2, 3}, {"data", "model"});
  EXPECT_EQ(m.part(0, 1).ranks, (Ints{3, 4, 5}));
  EXPECT_EQ(m.part(1, 2).ranks, (Ints{2, 5}));
  EXPECT_EQ(m.part(1, 2).names, (std::vector<std::string>{"data"}));
  EXPECT_EQ(m.part(0, 1).part(0, 2).ranks, (Ints{5}));
}

TEST(Mesh, EqualByValue) {
  EXPECT_EQ(make_mesh("cpu", {2}), make_mesh("cpu", {2}, {"axis0"}, {0, 1}));
  EXPECT_FALSE(make_mesh("cpu", {2}) == make_mesh("cpu", {2}, {}, {1, 0}));
  EXPECT_FALSE(make_mesh("cpu", {2, 1}) == make_mesh("cpu", {1, 2}));
}

TEST(Mesh, Text) {
  EXPECT_EQ(text(make_mesh("cpu", {2, 4}, {"data", "model"})), "cpu[data=2, model=4]");
  EXPECT_EQ(text(make_mesh("cpu", {2}, {"x"}, {4, 5})), "cpu[x=2]@4..5");
  EXPECT_EQ(text(make_mesh("cpu", {2}, {"x"}, {5, 4})), "cpu[x=2]@5,4");
}

TEST(Mesh, Refusals) {
  EXPECT_THROW(make_mesh("gpu", {2}), Error);
  EXPECT_THROW(make_mesh("cpu", {}), Error);
  EXPECT_THROW(make_mesh("cpu", {0}), Error);
  EXPECT_THROW(make_mesh("cpu", {2}, {"a", "b"}), Error);
  EXPECT_THROW(make_mesh("cpu", {1, 1}, {"a", "a"}), Error);
  EXPECT_THROW(make_mesh("cpu", {2}, {"a b"}), Error);
  EXPECT_THROW(make_mesh("cpu", {2}, {}, {0}), Error);
  EXPECT_THROW(make_mesh("cpu", {2}, {}, {1, 1}), Error);
  EXPECT_THROW(make_mesh("cpu", {2}).part(1, 0), Error);
  EXPECT_THROW(make_mesh("cpu", {2}).axis_of("data"), Error);
}

}  // namespace
}  // namespace hw
