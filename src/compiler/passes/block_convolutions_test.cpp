// block_convolutions on graph text. The tests of layouts are for machines with blocks of 8 and a kernel that serves them.
#include "compiler/passes/checked_pass.h"
#include "kernels/isa.h"
#include "kernels/kernel.h"

namespace hw {
namespace {

constexpr double kRounding = 1e-4;

/// Lowers the instruction set to AVX2 meanwhile.
class BlockConvolutions : public ::testing::Test {
 protected:
  void SetUp() override {
    if (kernel_candidates("_conv2d_packed", DeviceType::CPU).size() < 2 || isa() != Isa::AVX2)
      GTEST_SKIP() << "needs oneDNN and AVX2";
  }
};

std::string blocked(const std::string& graph) { return after("block_convolutions", graph, {{true}, kRounding}); }

const std::string kNet = R"(input %0 x: f32[1, 3, 12, 12]
state %1 first: f32[8, 3, 3, 3]
state %2 bias: f32[8]
state %3 second: f32[16, 8, 1, 1]
%4: f32[1, 8, 12, 12] = convolution(%0, %1, %2) {stride=[1, 1], padding=[1, 1], dilation=[1, 1]}
%5: f32[1, 8, 12, 12] = relu(%4)
%6: f32[1, 16, 12, 12] = convolution(%5, %3, None) {stride=[1, 1], padding=[0, 0], dilation=[1, 1]}
output %6
)";

TEST_F(BlockConvolutions, NoReorderBetweenThem) {
  EXPECT_EQ(blocked(kNet), R"(input %0 x: f32[1, 3, 12, 12]
state %1 first: f32[8, 3, 3, 3]
state %2 bias: f32[8]
state %3 second: f32[16, 8, 1, 1]
%4: f32[1, 8, 3, 3, 3] = view(%1) {shape=[1, 8, 3, 3, 3]}
%5: f32[1, 3, 3, 3, 8]{216, 3, 1, 9, 27} = permute(%4) {dims=[0, 3, 4, 2, 1]}
%6: f32[1, 3, 3, 3, 8] = clone(%5)
%7: f32[1, 1, 12, 12, 8] = _conv2d_packed(%0, %6, %2, None) {stride=[1, 1], padding=[1, 1], dilation=[1, 1]}
%8: f32[1, 1, 12, 12, 8] = relu(%7)
%9: f32[2, 8, 1, 8, 1, 1] = view(%3) {shape=[2, 8, 1, 8, 1, 1]}
%10: f32[2, 1, 1, 1, 8, 8]{64, 8, 1, 1, 1, 8} = permute(%9) {dims=[0, 2, 4, 5, 3, 1]}
%11: f32[2, 1, 1, 1, 8, 8] = clone(%10)
%12: f32[1, 2, 12, 12, 8] = _conv2d_packed(%8, %11, None, None) {stride=[1, 1], padding=[0, 0], dilation=[1, 1]}
%13: f32[1, 2, 8, 12, 12]{2304, 1152, 1, 96, 8} = permute(%12) {dims=[0, 1, 4, 2, 3]}
%14: f32[1, 2, 8, 12, 12] = clone(%13)
%15: f32[1, 16, 12, 12] = view(%14) {shape=[1, 16, 12, 12]}
output %15
)");
}

TEST_F(BlockConvolutions, AStrideOfTwoIsServedByWinogradWhereItPays) {
  const std::string graph = R"(input %0 x: f32[1, 64, 28, 28]
state %1 w: f32[64, 64, 3, 3]
%2: f32[1, 64, 14, 14] = convolution(%0, %1, None) {stride=[2, 2], padding=[1, 1], dilation=[1, 1]}
output %2
)";
  const std::string text = blocked(graph);
  EXPECT_NE(text.find("_winograd_pack_weight(%1) {stride=2}"), std::string::npos) << text;
  EXPECT_NE(text.find("f32[1, 8, 14, 14, 8] = _conv2d_winograd("), std::string::npos) << text;
  const std::string uneven = blocked(R"(input %0 x: f32[1, 64, 28, 28]
state %1 w: f32[64, 64, 3, 3]
%2: f32[1, 64, 14, 28] = convolution(%0, %1, None) {stride=[2, 1], padding=[1, 1], dilation=[1, 1]}
output %2
)");
  EXPECT_EQ(uneven.find("winograd"), std::string::npos) << uneven;
}

std::string with(std::string from, std::string to, std::string s = kNet) {
  return s.replace(s.find(from), from.size(), to);
}

TEST_F(BlockConvolutions, PoolsAndMeansAreTakenAlong) {
  const std::string text = blocked(with(
      "output %6\n",
      R"(%7: f32[1, 16, 6, 6], %8: i64[1, 16, 6, 6] = max_pool(%6) {kernel_size=[3, 3], stride=[2, 2], padding=[1, 1], dilation=[1, 1]}
%9: f32[1, 16, 1, 1] = adaptive_avg_pool(%7) {output_size=[1, 1]}
%10: f32[1, 16] = view(%9) {shape=[1, 16]}
output %10
)"));
  EXPECT_NE(text.find("_max_pool2d_blocked("), std::string::npos);
  EXPECT_NE(text.find("f32[1, 2, 1, 1, 8] = mean("), std::string::npos);
  EXPECT_EQ(text.find("adaptive"), std::string::npos);
}

TEST_F(BlockConvolutions, ChannelsBesideImages) {
  const std::string text =
      blocked(with("output %6\n", R"(%7: f32[1, 16, 1, 1] = adaptive_avg_pool(%6) {output_size=[1, 1]}
%8: f32[1, 16, 1, 1] = sigmoid(%7)
%9: f32[1, 16, 12, 12] = mul(%6, %8)
%10: f32[1, 32, 12, 12] = cat(%9, %6) {dim=1}
output %10
)"));
  EXPECT_NE(text.find("f32[1, 2, 12, 12, 8] = mul("), std::string::npos);
  EXPECT_NE(text.find("f32[1, 4, 12, 12, 8] = cat("), std::string::npos);
}

TEST_F(BlockConvolutions, Depthwise) {
  std::string s = with("state %3 second: f32[16, 8, 1, 1]", "state %3 second: f32[8, 1, 1, 1]");
  s = with("f32[1, 16, 12, 12] = convolution(%5, %3, None) {stride=[1, 1], padding=[0, 0], dilation=[1, 1]}",
           "f32[1, 8, 12, 12] = convolution(%5, %3, None) {stride=[1, 1], padding=[0, 0], dilation=[1, 1], groups=8}",
           s);
  EXPECT_NE(blocked(s).find("f32[1, 1, 1, 8] = clone("), std::string::npos);
}

TEST_F(BlockConvolutions, AnImageThatIsReadOtherwiseIsPutBack) {
  const std::string text =
      blocked(with("output %6\n", "%7: f32[1, 8, 12, 12] = softmax(%5) {dim=1}\noutput %7\noutput %6\n"));
  EXPECT_NE(text.find("softmax("), std::string::npos);
}

TEST_F(BlockConvolutions, NotOddChannels) {
  EXPECT_EQ(blocked(R"(input %0 x: f32[1, 6, 12, 12]
state %1 first: f32[8, 6, 3, 3]
%2: f32[1, 8, 10, 10] = convolution(%0, %1, None) {stride=[1, 1], padding=[0, 0], dilation=[1, 1]}
output %2
)"),
            "no change");
}

TEST_F(BlockConvolutions, NotWhenTheWeightIsAnInput) {
  EXPECT_EQ(blocked(R"(input %0 x: f32[1, 8, 12, 12]
input %1 first: f32[8, 8, 3, 3]
%2: f32[1, 8, 10, 10] = convolution(%0, %1, None) {stride=[1, 1], padding=[0, 0], dilation=[1, 1]}
output %2
)"),
            "no change");
}

TEST_F(BlockConvolutions, NotInTraining) {
  EXPECT_EQ(after("block_convolutions", kNet), "no change");
  EXPECT_EQ(blocked(kNet + "update %2 <- %2\n"), "no change");
}

}  // namespace
}  // namespace hw
