// Overlap: proven apart for equal strides, assumed elsewhere.
#include "core/overlap.h"

#include <gtest/gtest.h>

namespace hw {
namespace {

Tensor view(const Tensor& t, Dims shape, Dims strides, int64_t offset) {
  return t.alias(std::move(shape), std::move(strides), offset);
}

/// Whether any element of `a` has the address of one of `b`, by looking at all pairs.
bool meet(const Tensor& a, const Tensor& b) {
  for (int64_t i = 0; i < a.shape()[0]; ++i)
    for (int64_t j = 0; j < a.shape()[1]; ++j)
      for (int64_t k = 0; k < b.shape()[0]; ++k)
        for (int64_t l = 0; l < b.shape()[1]; ++l)
          if (a.offset() + i * a.strides()[0] + j * a.strides()[1] ==
              b.offset() + k * b.strides()[0] + l * b.strides()[1])
            return true;
  return false;
}

TEST(Overlap, EqualStridesAreDecided) {
  const Tensor whole = Tensor::empty(Dims{12, 12}, DType::F32);
  int64_t apart = 0;
  for (int64_t rows = 1; rows < 4; ++rows)
    for (int64_t columns = 1; columns < 6; ++columns)
      for (int64_t step = 1; step < 3; ++step)
        for (int64_t offset = 0; offset < 60; ++offset) {
          const Tensor a = view(whole, {2, 3}, {12, step}, 0), b = view(whole, {rows, columns}, {12, step}, offset);
          const bool like = rows == 2 && columns == 3, met = meet(a, b);  // another shape is judged with some caution
          EXPECT_TRUE(may_meet(a, b) || !met) << rows << ' ' << columns << ' ' << step << ' ' << offset;
          EXPECT_TRUE(!like || may_meet(a, b) == met) << step << ' ' << offset;
          EXPECT_EQ(may_meet(b, a), may_meet(a, b));
          apart += !may_meet(a, b);
        }
  EXPECT_GT(apart, 100);
}

TEST(Overlap, OtherStridesNeverCountAsApartWhenTheyMeet) {
  const Tensor whole = Tensor::empty(Dims{12, 12}, DType::F32);
  for (int64_t offset = 0; offset < 90; ++offset) {
    const Tensor a = view(whole, {4, 3}, {12, 1}, 0), b = view(whole, {3, 4}, {1, 12}, offset);
    if (meet(a, b)) {
      EXPECT_TRUE(may_meet(a, b));
    }
  }
}

TEST(Overlap, TheSameElements) {
  const Tensor a = Tensor::empty(Dims{3, 3}, DType::F32), other = Tensor::empty(Dims{3, 3}, DType::F32);
  EXPECT_TRUE(same_memory(a, a.alias()));
  EXPECT_FALSE(same_memory(a, view(a, {3, 3}, {1, 3}, 0)));
  EXPECT_FALSE(may_meet(a, other));
  EXPECT_FALSE(may_meet(a, view(a, {0, 3}, {3, 1}, 0)));
}

}  // namespace
}  // namespace hw
