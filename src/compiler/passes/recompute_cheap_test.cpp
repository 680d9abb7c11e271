// recompute_cheap on graph text.
#include "base/text.h"
#include "compiler/passes/checked_pass.h"

namespace hw {
namespace {

// Activations of 64 MiB each wait while something small is computed in many steps; products give the program its price.
std::string waiting(const std::string& first, int steps, const std::string& rows) {
  std::string g = text("input %0 x: f32[", rows, ", 1024]\ninput %1 w: f32[1024, 1024]\ninput %2 s: f32[4]\n");
  g += text("%3: f32[", rows, ", 1024] = mm(%0, %1)\n%4: f32[", rows, ", 1024] = ", first, "\n");
  g += text("%5: f32[", rows, ", 1024] = mm(%4, %1)\n");
  g += text("%6: f32[", rows, ", 1024] = exp(%5)\n%7: f32[1024] = sum(%6) {dim=[0]}\n");  // the peak
  int last = 2;
  for (int i = 0; i < steps; ++i) {
    g += text("%", 8 + i, ": f32[4] = exp(%", last, ")\n");
    last = 8 + i;
  }
  const int next = 8 + steps;
  g += text("%", next, ": f32[", rows, ", 1024] = add(%5, %7) {alpha=1}\n");
  g += text("%", next + 1, ": f32[", rows, ", 1024] = mul(%", next, ", %4)\n");
  g += text("%", next + 2, ": f32[", rows, ", 1024] = mul(%", next + 1, ", %3)\n");
  return g + text("output %", next + 2, "\noutput %", last, "\n");
}

size_t count(const std::string& in, const std::string& what) {
  size_t n = 0;
  for (size_t at = in.find(what); at != std::string::npos; at = in.find(what, at + 1)) ++n;
  return n;
}

const Checked kTextOnly{{}, 0, false};

TEST(RecomputeCheap, MakesAnActivationAgainAtItsLateUse) {
  const std::string out = after("recompute_cheap", waiting("relu(%3)", 40, "16384"), kTextOnly);
  EXPECT_EQ(count(out, "relu("), 2u) << out;
  EXPECT_EQ(count(out, "mm("), 2u) << out;
}

TEST(RecomputeCheap, NotAProduct) {
  EXPECT_EQ(after("recompute_cheap", waiting("mm(%3, %1)", 40, "16384"), kTextOnly), "no change");
}

TEST(RecomputeCheap, NotWhatLooksForValuesOneByOne) {
  for (const char* op : {"cumsum(%3) {dim=1}", "avg_pool(%3) {kernel_size=[3], stride=[1], padding=[1]}"})
    EXPECT_EQ(after("recompute_cheap", waiting(op, 40, "16384"), kTextOnly), "no change") << op;
}

TEST(RecomputeCheap, NotALoop) {
  const std::string loop = R"(_while(%3) with
  graph going
  input %0: f32[16384, 1024]
  %1: bool[16384, 1024] = isnan(%0)
  %2: bool[] = any(%1)
  output %2
  graph turn
  input %0: f32[16384, 1024]
  %1: f32[16384, 1024] = neg(%0)
  output %1
end)";
  EXPECT_EQ(after("recompute_cheap", waiting(loop, 40, "16384"), kTextOnly), "no change");
}

TEST(RecomputeCheap, NotWhatCameFromAnotherProcess) {
  std::string g = waiting("relu(%3)", 40, "16384");
  const std::string made = "%4: f32[16384, 1024] = relu(%3)\n", first = "%3: f32";
  g.replace(g.find(made), made.size(),
            "%91: u8[1], %4: f32[16384, 1024] = _exchange(%90, %3) "
            "{to=[1], from=[1], shapes=[2, 16384, 1024], dtype=f32}\n");
  g.insert(g.find(first), "state %90 exchanges: u8[1]\n");
  EXPECT_EQ(after("recompute_cheap", g, kTextOnly), "no change");
}

TEST(RecomputeCheap, NotWhatIsUsedSoon) {
  EXPECT_EQ(after("recompute_cheap", waiting("relu(%3)", 4, "16384"), kTextOnly), "no change");
}

TEST(RecomputeCheap, NotInSmallPrograms) {
  EXPECT_EQ(after("recompute_cheap", waiting("relu(%3)", 40, "64"), {}), "no change");
}

}  // namespace
}  // namespace hw
