// merge_products on graph text.
#include "compiler/passes/checked_pass.h"

namespace hw {
namespace {

const std::string kTwo = R"(input %0 x: f32[2, 3, 8]
state %1 a: f32[4, 8]
state %2 b: f32[4]
state %3 c: f32[6, 8]
state %4 d: f32[6]
%5: f32[2, 3, 4] = linear(%0, %1, %2)
%6: f32[2, 3, 2, 2] = view(%5) {shape=[2, 3, 2, 2]}
%7: f32[2, 3, 2, 2] = exp(%6)
%8: f32[2, 3, 6] = linear(%0, %3, %4)
%9: f32[2, 6, 3]{18, 1, 6} = transpose(%8) {dim0=1, dim1=2}
%10: f32[2, 6, 3] = exp(%9)
output %7
output %10
)";

const Checked kFrozen{{true}, 0.05};

std::string with(std::string s, std::string from, std::string to) { return s.replace(s.find(from), from.size(), to); }

TEST(MergeProducts, OneProductAndSlices) {
  const std::string out = after("merge_products", kTwo, kFrozen);
  EXPECT_EQ(out, R"(input %0 x: f32[2, 3, 8]
state %1 a: f32[4, 8]
state %2 b: f32[4]
state %3 c: f32[6, 8]
state %4 d: f32[6]
%5: f32[10, 8] = cat(%1, %3)
%6: f32[10] = cat(%2, %4)
%7: f32[2, 3, 10] = linear(%0, %5, %6)
%8: f32[2, 3, 4]{30, 10, 1} = _slice(%7) {dim=2, start=0, end=4}
%9: f32[2, 3, 6]{30, 10, 1} = _slice(%7) {dim=2, start=4, end=10}
%10: f32[2, 3, 2, 2]{30, 10, 2, 1} = view(%8) {shape=[2, 3, 2, 2]}
%11: f32[2, 3, 2, 2] = exp(%10)
%12: f32[2, 6, 3]{30, 1, 10} = transpose(%9) {dim0=1, dim1=2}
%13: f32[2, 6, 3] = exp(%12)
output %11
output %13
)");
}

TEST(MergeProducts, NotWhenStateMayChange) {
  EXPECT_EQ(after("merge_products", kTwo), "no change");
  EXPECT_EQ(after("merge_products", kTwo + "update %2 <- %2\n", kFrozen), "no change");
  EXPECT_EQ(after("merge_products", with(kTwo, "state %3", "input %3"), kFrozen), "no change");
}

TEST(MergeProducts, NotWhereTheResultIsReadAsItIsOrSeen) {
  const std::string direct = with(with(kTwo, "%6: f32[2, 3, 2, 2] = view(%5) {shape=[2, 3, 2, 2]}\n", ""),
                                  "f32[2, 3, 2, 2] = exp(%6)", "f32[2, 3, 4] = exp(%5)");
  EXPECT_EQ(after("merge_products", direct, kFrozen), "no change");
  EXPECT_EQ(after("merge_products", kTwo + "output %6\n", kFrozen), "no change");
  EXPECT_EQ(after("merge_products", kTwo + "output %5\n", kFrozen), "no change");
}

TEST(MergeProducts, NotWhereAViewNeedsTheRowsTogether) {
  const std::string s =
      with(with(kTwo, "f32[2, 3, 2, 2] = view(%5) {shape=[2, 3, 2, 2]}", "f32[6, 4] = view(%5) {shape=[6, 4]}"),
           "f32[2, 3, 2, 2] = exp(%6)", "f32[6, 4] = exp(%6)");
  EXPECT_NE(after("merge_products", s, kFrozen), "no change");  // rows of one stride still are
  const std::string flat =
      with(with(kTwo, "f32[2, 3, 2, 2] = view(%5) {shape=[2, 3, 2, 2]}", "f32[24] = view(%5) {shape=[24]}"),
           "f32[2, 3, 2, 2] = exp(%6)", "f32[24] = exp(%6)");
  EXPECT_EQ(after("merge_products", flat, kFrozen), "no change");
}

TEST(MergeProducts, NotOfDifferentInputs) {
  EXPECT_EQ(after("merge_products",
                  with(with(kTwo, "state %1", "input %x y: f32[2, 3, 8]\nstate %1"), "linear(%0, %3", "linear(%x, %3"),
                  kFrozen),
            "no change");
}

}  // namespace
}  // namespace hw
