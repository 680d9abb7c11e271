// fuse_linear on graph text.
#include "base/text.h"
#include "compiler/passes/checked_pass.h"
#include "kernels/linalg/packed_linear.h"

namespace hw {
namespace {

const std::string kLayer = R"(input %0 x: f32[5, 64]
state %1 weight: f32[192, 64]
state %2 bias: f32[192]
input %3 r: f32[5, 192]
%4: f32[5, 192] = linear(%0, %1, %2)
%5: f32[5, 192] = add(%3, %4) {alpha=1}
%6: f32[5, 192] = gelu(%5) {approximate="none"}
output %6
)";

// The operands hold infinities and values of 300, so sums are compared against the size of the result.
const Checked kFrozen{{true}, 0.05};

std::string with(std::string s, std::string from, std::string to) { return s.replace(s.find(from), from.size(), to); }

TEST(FuseLinear, TakesResidualAndActivationAlong) {
  const int64_t w = packed_width();
  EXPECT_EQ(after("fuse_linear", kLayer, kFrozen),
            text(R"(input %0 x: f32[5, 64]
state %1 weight: f32[192, 64]
state %2 bias: f32[192]
input %3 r: f32[5, 192]
%4: f32[)",
                 192 / w, ", 64, ", w, R"(] = _pack_linear_weight(%1) {width=)", w, R"(}
%5: f32[5, 192] = _linear_packed(%0, %4, %2, %3) {out_features=192, activation="gelu"}
output %5
)"));
}

TEST(FuseLinear, WithoutWhatIsReadElsewhere) {
  const std::string out = after("fuse_linear", kLayer + "output %5\n", kFrozen);
  EXPECT_NE(out.find("_linear_packed(%0, %4, %2, %3) {out_features=192}\n"), std::string::npos) << out;
  EXPECT_NE(out.find("gelu("), std::string::npos) << out;
}

TEST(FuseLinear, ProductsByATransposedWeight) {
  const std::string mm = R"(input %0 x: f32[5, 64]
state %1 weight: f32[64, 192]
state %2 bias: f32[192]
%3: f32[5, 192] = mm(%0, %1)
%4: f32[5, 192] = addmm(%2, %0, %1) {beta=1, alpha=1}
%5: f32[5, 192] = tanh(%4)
output %3
output %5
)";
  const std::string out = after("fuse_linear", mm, kFrozen);
  EXPECT_NE(out.find("activation=\"tanh\""), std::string::npos) << out;
  EXPECT_EQ(out.find("mm("), std::string::npos) << out;
  EXPECT_EQ(out.find("_pack_linear_weight"), out.rfind("_pack_linear_weight")) << "packed twice\n" << out;
  EXPECT_NE(after("fuse_linear", with(mm, "beta=1", "beta=2"), kFrozen).find("addmm("), std::string::npos);
}

TEST(FuseLinear, LayersBehindEachOther) {
  const std::string two = R"(input %0 x: f32[5, 128]
state %1 weight: f32[128, 128]
%2: f32[5, 128] = linear(%0, %1, None)
%3: f32[5, 128] = relu(%2)
%4: f32[5, 128] = linear(%3, %1, None)
output %4
)";
  EXPECT_EQ(after("fuse_linear", two, kFrozen).find("= linear("), std::string::npos);
}

TEST(FuseLinear, NotWhenStateMayChange) {
  EXPECT_EQ(after("fuse_linear", kLayer), "no change");
  EXPECT_EQ(after("fuse_linear", kLayer + "update %1 <- %1\n", kFrozen), "no change");
  EXPECT_EQ(after("fuse_linear", with(kLayer, "state %1", "input %1"), kFrozen), "no change");
}

TEST(FuseLinear, NotForOtherDtypesOrSmallWeights) {
  std::string half = kLayer;
  for (size_t at; (at = half.find("f32")) != std::string::npos;) half.replace(at, 3, "f16");
  EXPECT_EQ(after("fuse_linear", half, kFrozen), "no change");
  std::string small = kLayer;
  for (size_t at; (at = small.find("192")) != std::string::npos;) small.replace(at, 3, "16");
  EXPECT_EQ(after("fuse_linear", small, kFrozen), "no change");
}

TEST(FuseLinear, ABroadcastSumIsNoResidual) {
  const std::string s = with(kLayer, "r: f32[5, 192]", "r: f32[192]");
  EXPECT_NE(after("fuse_linear", s, kFrozen).find("= add("), std::string::npos);
}

}  // namespace
}  // namespace hw
