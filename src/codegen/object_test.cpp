// Objects: a compiled function runs, and damaged bytes are refused without harm.
#include <gtest/gtest.h>

#include "codegen/compiled.h"
#include "codegen/expression.h"
#include "codegen/llvm.h"
#include "codegen/object.h"

namespace hw {

static std::string doubling() {
  FusedExpression e;
  e.inputs = {{DType::F32, true}};
  FusedNode n;
  n.functor = "add";
  n.compute = n.dtype = DType::F32;
  n.inputs = {0, 0};
  e.nodes = {n};
  e.outputs = {1};
  std::string why_not;
  return write_code(e, {8, false}, why_not);
}

TEST(Object, RunsWhatWasCompiledAndRefusesDamage) {
  std::string why_not;
  if (!code_lanes(why_not) || !has_llvm(why_not)) GTEST_SKIP() << why_not;
  const std::string object = compile_with_llvm(doubling(), "x86-64-v3", "", why_not);
  ASSERT_FALSE(object.empty()) << why_not;
  const auto code = LoadedCode::load(object, "k", why_not);
  ASSERT_TRUE(code) << why_not;
  float x[16], y[16] = {};
  for (int i = 0; i < 16; ++i) x[i] = static_cast<float>(i);
  char* operands[] = {reinterpret_cast<char*>(x), reinterpret_cast<char*>(y)};
  const int64_t steps[] = {32, 32};
  reinterpret_cast<RowsFunction>(code->function())(operands, steps, 2, 8);
  for (int i = 0; i < 16; ++i) EXPECT_EQ(y[i], 2.0f * static_cast<float>(i));
  EXPECT_FALSE(LoadedCode::load(object, "other", why_not));
  for (size_t cut = 0; cut < object.size(); cut += 37) LoadedCode::load(object.substr(0, cut), "k", why_not);
  for (size_t at = 0; at < object.size(); ++at) {
    std::string damaged = object;
    damaged[at] = static_cast<char>(damaged[at] ^ 0xff);
    LoadedCode::load(damaged, "k", why_not);  // refused or not: only loaded
  }
}

TEST(Object, EveryInstructionSetHasCode) {
  std::string why_not;
  if (!has_llvm(why_not)) GTEST_SKIP() << why_not;
  for (const char* cpu : {"x86-64-v3", "x86-64-v4"})
    EXPECT_FALSE(compile_with_llvm(doubling(), cpu, "-prefer-256-bit", why_not).empty()) << cpu << why_not;
}

TEST(Object, AnErrorInTheTextIsAReason) {
  std::string why_not;
  if (!has_llvm(why_not)) GTEST_SKIP() << why_not;
  EXPECT_TRUE(compile_with_llvm("define void @k( {", "x86-64-v3", "", why_not).empty());
  EXPECT_EQ(why_not.substr(0, 5), "LLVM:");
}

}  // namespace hw
