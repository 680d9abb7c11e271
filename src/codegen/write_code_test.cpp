// The text that is written, and what is not written.
#include <gtest/gtest.h>

#include "codegen/expression.h"

namespace hw {

static FusedNode node(std::string functor, DType compute, DType dtype, std::vector<int32_t> inputs) {
  FusedNode n;
  n.functor = std::move(functor);
  n.compute = compute;
  n.dtype = dtype;
  n.inputs = std::move(inputs);
  return n;
}

static size_t count(const std::string& in, const std::string& what) {
  size_t n = 0;
  for (size_t at = in.find(what); at != std::string::npos; at = in.find(what, at + 1)) ++n;
  return n;
}

TEST(WriteCode, ARowConstantIsLoadedAndConvertedBeforeTheLoop) {
  FusedExpression e;
  e.inputs = {{DType::F32, true}, {DType::BF16, false}};
  e.nodes = {node("add", DType::F32, DType::F32, {0, 1})};
  e.outputs = {2};
  std::string why_not;
  const std::string code = write_code(e, {8, false}, why_not);
  ASSERT_FALSE(code.empty()) << why_not;
  const size_t loop = code.find("\nloop:");
  EXPECT_LT(code.find("load i16"), loop);
  EXPECT_LT(code.find("shl <8 x i32>"), loop);
  EXPECT_GT(code.find("fadd <8 x float>"), loop);
  EXPECT_GT(code.find("store <8 x float>"), loop);
}

TEST(WriteCode, EqualExpressionsAreWrittenOnce) {
  FusedExpression e;
  e.inputs = {{DType::F64, true}};
  e.nodes = {node("square", DType::F64, DType::F64, {0}), node("square", DType::F64, DType::F64, {0}),
             node("add", DType::F64, DType::F64, {1, 2})};
  e.outputs = {3};
  std::string why_not;
  EXPECT_EQ(count(write_code(e, {8, false}, why_not), "fmul"), 1u);
}

TEST(WriteCode, A16BitResultIsRoundedBeforeItIsUsed) {
  FusedExpression e;
  e.inputs = {{DType::BF16, true}};
  e.nodes = {node("square", DType::F32, DType::BF16, {0}), node("neg", DType::F32, DType::BF16, {1})};
  e.outputs = {2};
  std::string why_not;
  EXPECT_GE(count(write_code(e, {16, false}, why_not), "splat (i32 32767)"), 1u);
}

TEST(WriteCode, NumbersOfAPolynomialAreReadWhereTheyAreAdded) {
  FusedExpression e;
  e.inputs = {{DType::F32, true}};
  e.nodes = {node("gelu", DType::F32, DType::F32, {0})};
  e.outputs = {1};
  std::string why_not;
  const std::string code = write_code(e, {8, false}, why_not);
  EXPECT_GE(count(code, "= load <8 x float>, ptr @c"), 10u) << code;
  EXPECT_LT(code.find("\nloop:"), code.find("ptr @c"));
}

TEST(WriteCode, StreamingStoresAskForWholeVectors) {
  FusedExpression e;
  e.inputs = {{DType::F32, true}};
  e.nodes = {node("neg", DType::F32, DType::F32, {0})};
  e.outputs = {1};
  std::string why_not;
  EXPECT_EQ(count(write_code(e, {8, true}, why_not), "align 32, !nontemporal !0"), 1u);
  EXPECT_EQ(count(write_code(e, {8, false}, why_not), "nontemporal"), 0u);
  EXPECT_EQ(count(write_code(e, {8, true}, why_not), "call void @llvm.prefetch"), 1u);
}

TEST(WriteCode, WhatIsNoStraightLineIsDeclinedInWords) {
  std::string why_not;
  EXPECT_FALSE(can_write(node("lgamma", DType::F32, DType::F32, {0}), why_not));
  EXPECT_EQ(why_not, "lgamma in f32 is no straight line");
  EXPECT_FALSE(can_write(node("gcd", DType::I64, DType::I64, {0, 1}), why_not));
  EXPECT_FALSE(can_write(node("add", DType::C64, DType::C64, {0, 1}), why_not));
  EXPECT_TRUE(can_write(node("gelu", DType::F32, DType::F32, {0}), why_not));
}

}  // namespace hw
