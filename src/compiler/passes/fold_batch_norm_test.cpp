// fold_batch_norm on graph text.
#include "compiler/passes/checked_pass.h"

namespace hw {
namespace {

const std::string kInference = R"(input %0 x: f32[2, 3, 5, 5]
state %1 weight: f32[4, 3, 3, 3]
state %2 mean: f32[4]
state %3 scale: f32[4]
%4: f32[2, 4, 5, 5] = convolution(%0, %1, None) {padding=[1, 1], stride=[1, 1], dilation=[1, 1]}
%5: f32[4] = mul(%2, %3)
%6: f32[4] = neg(%5)
%7: f32[1, 4, 1, 1] = view(%6) {shape=[1, -1, 1, 1]}
%8: f32[1, 4, 1, 1] = view(%3) {shape=[1, -1, 1, 1]}
%9: f32[2, 4, 5, 5] = addcmul(%7, %4, %8)
output %9
)";

TEST(FoldBatchNorm, IntoTheConvolution) {
  EXPECT_EQ(after("fold_batch_norm", kInference, {{true}, 1e-4}), R"(input %0 x: f32[2, 3, 5, 5]
state %1 weight: f32[4, 3, 3, 3]
state %2 mean: f32[4]
state %3 scale: f32[4]
%4: f32[4] = mul(%2, %3)
%5: f32[4] = neg(%4)
%6: f32[4, 1, 1, 1] = view(%3) {shape=[4, 1, 1, 1]}
%7: f32[4, 3, 3, 3] = mul(%1, %6)
%8: f32[2, 4, 5, 5] = convolution(%0, %7, %5) {stride=[1, 1], padding=[1, 1], dilation=[1, 1]}
output %8
)");
}

std::string with(std::string from, std::string to) {
  std::string s = kInference;
  return s.replace(s.find(from), from.size(), to);
}

TEST(FoldBatchNorm, TakesTheBiasAlong) {
  std::string s = with("state %3", "state %b bias: f32[4]\nstate %3");
  s.replace(s.find("None"), 4, "%b");
  EXPECT_NE(after("fold_batch_norm", s, {{true}, 1e-4}).find("= addcmul(%6, %3, %4)"), std::string::npos);
}

TEST(FoldBatchNorm, OnlyWhenFrozen) { EXPECT_EQ(after("fold_batch_norm", kInference), "no change"); }

TEST(FoldBatchNorm, NotWhenTheConvolutionIsUsedElsewhere) {
  EXPECT_EQ(after("fold_batch_norm", kInference + "output %4\n", {{true}, 1e-4}), "no change");
}

TEST(FoldBatchNorm, NotWhenWeightOrScaleIsAnInput) {
  EXPECT_EQ(after("fold_batch_norm", with("state %1", "input %1"), {{true}, 1e-4}), "no change");
  EXPECT_EQ(after("fold_batch_norm", with("state %3", "input %3"), {{true}, 1e-4}), "no change");
}

TEST(FoldBatchNorm, NotWhenStateIsUpdated) {
  EXPECT_EQ(after("fold_batch_norm", kInference + "update %2 <- %5\n", {{true}, 1e-4}), "no change");
}

}  // namespace
}  // namespace hw
