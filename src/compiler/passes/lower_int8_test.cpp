// lower_int8 on graph text.
#include "base/text.h"
#include "compiler/passes/checked_pass.h"
#include "kernels/linalg/int8_linear.h"

namespace hw {
namespace {

const std::string kLayer = R"(input %0 x: u8[5, 64]
state %1 s: f32[]
state %2 z: u8[]
state %3 w: i8[32, 64]
state %4 t: f32[32]
state %5 bias: f32[32]
state %6 out_s: f32[]
state %7 out_z: u8[]
%8: f32[5, 64] = dequantize_linear(%0, %1, %2) {axis=None}
%9: f32[32, 64] = dequantize_linear(%3, %4, None) {axis=0}
%10: f32[5, 32] = linear(%8, %9, %5)
%11: f32[5, 32] = relu(%10)
%12: u8[5, 32] = quantize_linear(%11, %6, %7) {axis=None, dtype=None, quant_min=None, quant_max=None}
output %12
)";

const Checked kFrozen{{true}, 0, false};  // random scales mean nothing: results are compared in tests/quantization

std::string with(std::string s, const std::string& from, const std::string& to) {
  const size_t at = s.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? s : s.replace(at, from.size(), to);
}

TEST(LowerInt8, TakesReluAndQuantisationAlong) {
  const std::string out = after("lower_int8", kLayer, kFrozen);
  EXPECT_NE(out.find("_pack_int8_weight(%3)"), std::string::npos) << out;
  EXPECT_NE(out.find(R"(%6, %7) {out_features=32, activation="relu"})"), std::string::npos) << out;
  EXPECT_EQ(out.find("= linear("), std::string::npos) << out;
  EXPECT_EQ(out.find("quantize_linear(%1"), std::string::npos) << out;
  EXPECT_NE(out.find("sum("), std::string::npos) << "the zero point is not subtracted\n" << out;
}

TEST(LowerInt8, WhatIsReadElsewhereStays) {
  const std::string out = after("lower_int8", kLayer + "output %11\n", kFrozen);
  EXPECT_NE(out.find(R"(activation="relu")"), std::string::npos) << out;
  EXPECT_NE(out.find("quantize_linear("), std::string::npos) << out;
  const std::string sum = after("lower_int8", kLayer + "output %10\n", kFrozen);
  EXPECT_NE(sum.find("{out_features=32}"), std::string::npos) << sum;
  EXPECT_NE(sum.find("relu("), std::string::npos) << sum;
}

TEST(LowerInt8, OneScaleForTheWeight) {
  std::string one = with(kLayer, "state %4 t: f32[32]", "state %4 t: f32[]");
  one = with(one, "{axis=0}", "{axis=None}");
  const std::string out = after("lower_int8", one, kFrozen);
  EXPECT_NE(out.find("_linear_int8("), std::string::npos) << out;
}

TEST(LowerInt8, NotWhatItCannotCompute) {
  const auto stays = [](const std::string& graph, const char* why) {
    EXPECT_EQ(after("lower_int8", graph, kFrozen).find("_linear_int8("), std::string::npos) << why;
  };
  stays(with(kLayer, "state %3 w", "input %3 w"), "the weight is an argument");
  stays(with(kLayer, "state %1 s", "input %1 s"), "the scale is an argument");
  const std::string moved = with(kLayer, "state %5 bias", "state %13 wz: i8[32]\nstate %5 bias");
  stays(with(moved, "dequantize_linear(%3, %4, None)", "dequantize_linear(%3, %4, %13)"),
        "the weight has a zero point");
  std::string columns = with(kLayer, "state %4 t: f32[32]", "state %4 t: f32[64]");
  stays(with(columns, "{axis=0}", "{axis=1}"), "scales by column");
  EXPECT_EQ(after("lower_int8", kLayer, Checked{{false}, 0, false}).find("_linear_int8("), std::string::npos)
      << "not frozen";
  const std::string narrow = after("lower_int8", with(kLayer, "quant_max=None", "quant_max=100"), kFrozen);
  EXPECT_NE(narrow.find("quantize_linear("), std::string::npos) << "a narrower range\n" << narrow;
}

}  // namespace
}  // namespace hw
