// merge_equal on graph text.
#include "compiler/passes/checked_pass.h"

namespace hw {
namespace {

TEST(MergeEqual, EqualCallsAndConstants) {
  EXPECT_EQ(after("merge_equal", R"(input %0 x: f32[3, 2]
const %1: f64[] number = 2.0
const %2: f64[] number = 2.0
const %3: f64[] number = -2.0
%4: f32[3, 2] = mul(%0, %1)
%5: f32[3, 2] = mul(%0, %2)
%6: f32[3, 2] = exp(%4)
%7: f32[3, 2] = exp(%5)
%8: f32[3, 2] = add(%6, %7)
%9: f32[3, 2] = mul(%0, %3)
output %8
output %9
)"),
            R"(input %0 x: f32[3, 2]
const %1: f64[] number = 2.0
const %2: f64[] number = -2.0
%3: f32[3, 2] = mul(%0, %1)
%4: f32[3, 2] = exp(%3)
%5: f32[3, 2] = add(%4, %4)
%6: f32[3, 2] = mul(%0, %2)
output %5
output %6
)");
}

TEST(MergeEqual, ViewsOfTheSamePart) {
  EXPECT_EQ(after("merge_equal", R"(input %0 x: f32[4, 6]
%1: f32[6, 4]{1, 6} = permute(%0) {dims=[1, 0]}
%2: f32[6, 4]{1, 6} = transpose(%0) {dim0=0, dim1=1}
%3: f32[6, 4] = exp(%1)
%4: f32[6, 4] = exp(%2)
%5: f32[6, 4] = add(%3, %4)
output %5
)"),
            R"(input %0 x: f32[4, 6]
%1: f32[6, 4]{1, 6} = permute(%0) {dims=[1, 0]}
%2: f32[6, 4] = exp(%1)
%3: f32[6, 4] = add(%2, %2)
output %3
)");
}

TEST(MergeEqual, DifferentPartsStay) {
  EXPECT_EQ(after("merge_equal", R"(input %0 x: f32[4, 6]
%1: f32[2, 6] = narrow(%0) {dim=0, start=0, length=2}
%2: f32[2, 6] = narrow(%0) {dim=0, start=2, length=2}
%3: f32[2, 6] = add(%1, %2)
output %3
)"),
            "no change");
}

TEST(MergeEqual, ZerosOfBothSignsStay) {
  EXPECT_EQ(after("merge_equal", R"(input %0 x: f32[2]
const %1: f32[] = 0.0
const %2: f32[] = -0.0
%3: f32[2] = add(%0, %1)
%4: f32[2] = add(%0, %2)
output %3
output %4
)"),
            "no change");
}

TEST(MergeEqual, RandomCallsStay) {
  EXPECT_EQ(after("merge_equal", R"(input %0 x: f32[2]
%1: f32[2], %2: bool[2] = _dropout(%0) {seed=!seed, draw=!draw0}
%3: f32[2], %4: bool[2] = _dropout(%0) {seed=!seed, draw=!draw0}
%5: f32[2] = add(%1, %3)
output %5
)"),
            "no change");
}

TEST(MergeEqual, OtherAttributesAndDtypesStay) {
  EXPECT_EQ(after("merge_equal", R"(input %0 x: f32[2, 2]
%1: f32[2] = sum(%0) {dim=[0]}
%2: f32[2] = sum(%0) {dim=[1]}
%3: f64[2] = sum(%0) {dim=[0]}
output %1
output %2
output %3
)"),
            "no change");
}

/// What the call returns as two views of one memory stays one memory, apart from a third output.
TEST(MergeEqual, SharedOutputsStay) {
  EXPECT_EQ(after("merge_equal", R"(input %0 x: f32[4]
%1: f32[4] = exp(%0)
%2: f32[4] = exp(%0)
%3: f32[2, 2] = view(%2) {shape=[2, 2]}
output %1 memory 0
output %2 memory 1
output %3 memory 1
)"),
            "no change");
}

}  // namespace
}  // namespace hw
