// fuse_convolutions on graph text.
#include "compiler/passes/checked_pass.h"

namespace hw {
namespace {

constexpr double kRounding = 1e-4;

const std::string kBlock = R"(input %0 x: f32[1, 2, 5, 5, 8]
input %1 shortcut: f32[1, 1, 5, 5, 8]
state %2 weight: f32[1, 2, 3, 3, 8, 8]
state %3 bias: f32[8]
%4: f32[1, 1, 5, 5, 8] = _conv2d_packed(%0, %2, %3, None) {padding=[1, 1]}
%5: f32[1, 1, 5, 5, 8] = add(%4, %1)
%6: f32[1, 1, 5, 5, 8] = relu(%5)
output %6
)";

std::string with(std::string from, std::string to, std::string s = kBlock) {
  return s.replace(s.find(from), from.size(), to);
}

std::string fused(const std::string& graph) { return after("fuse_convolutions", graph, {{true}, kRounding}); }

TEST(FuseConvolutions, SumAndActivation) {
  EXPECT_EQ(fused(kBlock), R"(input %0 x: f32[1, 2, 5, 5, 8]
input %1 shortcut: f32[1, 1, 5, 5, 8]
state %2 weight: f32[1, 2, 3, 3, 8, 8]
state %3 bias: f32[8]
%4: f32[1, 1, 5, 5, 8] = _conv2d_packed(%0, %2, %3, %1) {padding=[1, 1], activation="relu"}
output %4
)");
}

TEST(FuseConvolutions, TheSumTheOtherWayRound) { EXPECT_EQ(fused(with("add(%4, %1)", "add(%1, %4)")), fused(kBlock)); }

TEST(FuseConvolutions, OtherActivations) {
  for (const char* name : {"sigmoid", "silu", "hardswish"})
    EXPECT_NE(fused(with("relu(%5)", std::string(name) + "(%5)")).find("activation=\"" + std::string(name)),
              std::string::npos);
  EXPECT_NE(fused(with("relu(%5)", "relu6(%5)")).find("activation=\"clamp\", high=6.0"), std::string::npos);
  EXPECT_NE(fused(with("relu(%5)", "hardtanh(%5) {min_val=-2.0, max_val=3.0}")).find("low=-2.0, high=3.0"),
            std::string::npos);
  EXPECT_NE(fused(with("%6: f32[1, 1, 5, 5, 8] = relu(%5)",
                       "const %7: f64[] number = -1.0\n%6: f32[1, 1, 5, 5, 8] = _clamp_min(%5, %7)"))
                .find("activation=\"clamp\", low=-1.0, high=inf"),
            std::string::npos);
}

TEST(FuseConvolutions, Winograd) {
  std::string s = with("f32[1, 2, 3, 3, 8, 8]", "f32[1, 16, 16, 16]");
  s = with("_conv2d_packed(%0, %2, %3, None) {padding=[1, 1]}",
           "_conv2d_winograd(%0, %2, %3, None) {out_channels=8, tile=2, padding=[1, 1]}", s);
  EXPECT_NE(fused(s).find("_conv2d_winograd(%0, %2, %3, %1) {out_channels=8, tile=2, padding=[1, 1], low=0.0}"),
            std::string::npos);
  // A sigmoid is no range.
  EXPECT_NE(fused(with("relu(%5)", "sigmoid(%5)", s)).find("= sigmoid("), std::string::npos);
}

TEST(FuseConvolutions, NotWhatIsReadElsewhere) {
  EXPECT_EQ(fused(kBlock + "output %4\noutput %5\n"), "no change");
  EXPECT_EQ(fused(with("add(%4, %1)", "add(%4, %4)")), "no change");
}

TEST(FuseConvolutions, NotAScaledSum) {
  EXPECT_EQ(fused(with("add(%4, %1)", "add(%4, %1) {alpha=2}", with("relu(%5)", "exp(%5)"))), "no change");
}

TEST(FuseConvolutions, NotASumAfterAnActivation) {
  std::string s = with("%5:", "%7: f32[1, 1, 5, 5, 8] = sigmoid(%4)\n%5:");
  s = with("relu(%5)", "exp(%5)", with("add(%4, %1)", "add(%7, %1)", s));
  const std::string text = fused(s);
  EXPECT_NE(text.find("activation=\"sigmoid\""), std::string::npos);
  EXPECT_NE(text.find("= add("), std::string::npos);
}

}  // namespace
}  // namespace hw
