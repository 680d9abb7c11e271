// run_once on graph text.
#include "compiler/passes/checked_pass.h"

namespace hw {
namespace {

constexpr PassOptions kFrozen{.frozen = true};

TEST(RunOnce, TakesWhatDependsOnStateAlone) {
  EXPECT_EQ(after("run_once", R"(input %0 x: f32[3]
state %1 w: f32[4, 3]
const %2: f32[] = 2.0
%3: f32[4, 3] = mul(%1, %2)
%4: f32[4, 3] = exp(%3)
%5: f32[3, 4]{1, 3} = transpose(%4) {dim0=0, dim1=1}
%6: f32[4] = sum(%4) {dim=[1]}
%7: f32[4, 3] = mul(%4, %0)
%8: f32[3, 4] = exp(%5)
output %7
output %6
output %5
)",
                  {.options = kFrozen}),
            R"(input %0 x: f32[3]
state %1 w: f32[4, 3]
%2: f32[4, 3], %3: f32[4] = _once(%1) with
  graph once
  input %0 w: f32[4, 3]
  const %1: f32[] = 2.0
  %2: f32[4, 3] = mul(%0, %1)
  %3: f32[4, 3] = exp(%2)
  %4: f32[4] = sum(%3) {dim=[1]}
  output %3 memory 0
  output %4 memory 1
end
%4: f32[3, 4]{1, 3} = transpose(%2) {dim0=0, dim1=1}
%5: f32[4, 3] = mul(%2, %0)
output %5
output %3
output %4
)");
}

TEST(RunOnce, LeavesTrainingAlone) {
  const char* step = R"(input %0 x: f32[3]
state %1 w: f32[3]
%2: f32[3] = exp(%1)
%3: f32[3] = mul(%0, %2)
update %1 <- %3
)";
  EXPECT_EQ(after("run_once", step, {.options = kFrozen}), "no change");
}

TEST(RunOnce, NotWithoutFrozen) {
  EXPECT_EQ(after("run_once",
                  "input %0: f32[3]\nstate %1: f32[3]\n%2: f32[3] = exp(%1)\n%3: f32[3] = mul(%0, %2)\noutput %3"),
            "no change");
}

TEST(RunOnce, NotViewsAlone) {
  EXPECT_EQ(after("run_once", R"(input %0: f32[4]
state %1: f32[4, 3]
%2: f32[3, 4]{1, 3} = transpose(%1) {dim0=0, dim1=1}
%3: f32[3, 4] = mul(%2, %0)
output %3
)",
                  {.options = kFrozen}),
            "no change");
}

TEST(RunOnce, KeepsWeightsPackedForWinograd) {
  const std::string text = after("run_once", R"(input %0: f32[1, 128, 5, 5]
state %1: f32[128, 128, 3, 3]
%2: f32[8, 36, 128, 16] = _winograd_pack_weight(%1) {tile=4}
%3: f32[1, 128, 5, 5] = _conv2d_winograd(%0, %2, None, None) {out_channels=128, padding=[1, 1]}
output %3
)",
                                 {.options = kFrozen, .runs = false});
  EXPECT_NE(text.find("_once(%1)"), std::string::npos) << text;
}

TEST(RunOnce, NotWhatIsMuchLargerThanItsState) {
  EXPECT_EQ(after("run_once", R"(input %0: f32[2000, 1000]
state %1: f32[1000]
%2: f32[2000, 1000]{0, 1} = expand(%1) {size=[2000, 1000]}
%3: f32[2000, 1000] = exp(%2)
%4: f32[2000, 1000] = mul(%3, %0)
output %4
)",
                  {.options = kFrozen, .runs = false}),
            "no change");
}

}  // namespace
}  // namespace hw
