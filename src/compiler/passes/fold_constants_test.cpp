// fold_constants on graph text.
#include "compiler/passes/checked_pass.h"

namespace hw {
namespace {

TEST(FoldConstants, ComputesChains) {
  EXPECT_EQ(after("fold_constants", R"(input %0 x: f32[2]
const %1: f32[2] = [1.0, 4.0]
const %2: f64[] number = 0.5
%3: f32[2] = mul(%1, %2)
%4: f32[2] = sqrt(%3)
%5: f32[2] = add(%0, %4)
%6: f32[1, 2] = unsqueeze(%3) {dim=0}
output %5
output %6
)"),
            R"(input %0 x: f32[2]
const %1: f32[1, 2] = [0.5, 2.0]
const %2: f32[2] = [0.70710677, 1.4142135]
%3: f32[2] = add(%0, %2)
output %3
output %1
)");
}

TEST(FoldConstants, NoInputsAtAll) {
  EXPECT_EQ(after("fold_constants",
                  "input %0 x: f32[3]\n%1: f32[3] = full() {size=[3], fill_value=7, dtype=f32}\n"
                  "%2: f32[3] = mul(%0, %1)\noutput %2"),
            "input %0 x: f32[3]\nconst %1: f32[3] = [7.0, 7.0, 7.0]\n%2: f32[3] = mul(%0, %1)\noutput %2\n");
}

TEST(FoldConstants, LeavesOthers) {
  EXPECT_EQ(after("fold_constants", R"(input %0 x: f32[2]
state %1 w: f32[2]
%2: f32[2] = exp(%0)
%3: f32[2] = exp(%1)
%4: f32[8192] = full() {size=[8192], fill_value=0, dtype=f32}
%5: f32[8192] = exp(%4)
%6: f32[2] = empty() {size=[2]}
output %2
output %3
output %5
)"),
            "no change");
}

TEST(FoldConstants, LeavesRandomAndBoundCalls) {
  EXPECT_EQ(after("fold_constants", R"(const %0: f32[2] = [1.0, 2.0]
%1: f32[2], %2: bool[2] = _dropout(%0) {seed=!seed, draw=!draw0}
output %1
)"),
            "no change");
}

/// A call that fails does so when it runs.
TEST(FoldConstants, LeavesFailingCalls) {
  EXPECT_EQ(after("fold_constants", R"(const %0: f32[2, 2] = [1.0, 2.0, 3.0, 4.0]
const %1: i64[1] = [5]
%2: f32[1, 2] = index_select(%0, %1) {dim=0}
output %2
)"),
            "no change");
}

TEST(FoldConstants, SharedOutputsStay) {
  EXPECT_EQ(after("fold_constants", R"(const %0: f32[2] = [1.0, 2.0]
%1: f32[2] = exp(%0)
%2: f32[2, 1] = view(%1) {shape=[2, 1]}
output %1 memory 0
output %2 memory 0
)"),
            "no change");
}

}  // namespace
}  // namespace hw
