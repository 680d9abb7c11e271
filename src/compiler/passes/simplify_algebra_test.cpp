// simplify_algebra on graph text.
#include "compiler/passes/checked_pass.h"

namespace hw {
namespace {

/// The nodes and results that are left of `nodes` over an input %0 x: f32[4, 3], an input %1 n: i64[4, 3] and constants.
std::string simplified(const std::string& nodes) {
  const std::string sources = R"(input %0 x: f32[4, 3]
input %1 n: i64[4, 3]
const %one: f64[] number = 1.0
const %ones: f32[4, 3] = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
const %zero: f64[] number = 0.0
const %negzero: f64[] number = -0.0
const %i1: i64[] number = 1
const %i0: i64[] number = 0
const %half: f64[] number = 0.5
const %three: f64[] number = 3.0
)";
  std::string out = after("simplify_algebra", sources + nodes);
  size_t at = out.find("\n%");
  size_t result = out.find("\noutput");
  at = std::min(at, result);
  return at == std::string::npos ? out : out.substr(at + 1);
}

TEST(SimplifyAlgebra, TimesAndOverOne) {
  for (const char* call : {"mul(%0, %one)", "mul(%one, %0)", "div(%0, %one)", "mul(%0, %i1)", "sub(%0, %zero)",
                           "sub(%0, %i0)", "add(%0, %negzero)", "add(%negzero, %0)"})
    EXPECT_EQ(simplified(std::string("%2: f32[4, 3] = ") + call + "\n%3: f32[4, 3] = exp(%2)\noutput %3"),
              "%2: f32[4, 3] = exp(%0)\noutput %2\n")
        << call;
  for (const char* call : {"mul(%1, %i1)", "add(%1, %i0)", "add(%i0, %1)", "sub(%1, %i0)"})
    EXPECT_EQ(simplified(std::string("%2: i64[4, 3] = ") + call + "\n%3: i64[4, 3] = neg(%2)\noutput %3"),
              "%2: i64[4, 3] = neg(%1)\noutput %2\n")
        << call;
}

TEST(SimplifyAlgebra, ZerosAndOtherNumbersStay) {
  for (const char* call : {"add(%0, %zero)",     // -0 + 0 is 0
                           "add(%0, %i0)",       // the same
                           "sub(%0, %negzero)",  // the same
                           "sub(%zero, %0)",     // 0 - 0 is not -0
                           "add(%0, %negzero) {alpha=0}", "mul(%0, %three)", "div(%one, %0)", "div(%0, %three)",
                           "div(%0, %one) {rounding_mode=\"floor\"}", "mul(%0, %zero)", "sub(%0, %0)"})
    EXPECT_EQ(simplified(std::string("%2: f32[4, 3] = ") + call + "\noutput %2"), "no change") << call;
}

TEST(SimplifyAlgebra, PromotionAndBroadcastingStay) {
  EXPECT_EQ(simplified("%2: f32[4, 3] = mul(%1, %one)\noutput %2"), "no change");  // makes i64 f32
  EXPECT_EQ(simplified("%2: f32[3] = select(%0) {dim=0, index=0}\n%3: f32[4, 3] = mul(%2, %ones)\noutput %3"),
            "no change");
  EXPECT_EQ(simplified("%2: f32[3, 4]{1, 3} = permute(%0) {dims=[1, 0]}\n%3: f32[3, 4] = mul(%2, %one)\noutput %3"),
            "no change");  // another layout
}

TEST(SimplifyAlgebra, ComplexProductsStay) {
  EXPECT_EQ(
      after("simplify_algebra", "input %0: c64[2]\nconst %1: f64[] number = 1.0\n%2: c64[2] = mul(%0, %1)\noutput %2"),
      "no change");
}

TEST(SimplifyAlgebra, Negatives) {
  EXPECT_EQ(simplified("%2: f32[4, 3] = neg(%0)\n%3: f32[4, 3] = neg(%2)\n%4: f32[4, 3] = exp(%3)\noutput %4"),
            "%2: f32[4, 3] = exp(%0)\noutput %2\n");
  EXPECT_EQ(simplified("%2: f32[4, 3] = exp(%0)\n%3: f32[4, 3] = neg(%2)\n%4: f32[4, 3] = add(%0, %3)\noutput %4"),
            "%2: f32[4, 3] = exp(%0)\n%3: f32[4, 3] = sub(%0, %2)\noutput %3\n");
  EXPECT_EQ(simplified("%2: f32[4, 3] = exp(%0)\n%3: f32[4, 3] = neg(%2)\n%4: f32[4, 3] = sub(%0, %3)\noutput %4"),
            "%2: f32[4, 3] = exp(%0)\n%3: f32[4, 3] = add(%0, %2)\noutput %3\n");
  EXPECT_EQ(simplified("%2: f32[4, 3] = exp(%0)\n%3: f32[4, 3] = neg(%2)\n%4: f32[4, 3] = add(%3, %0)\noutput %4"),
            "%2: f32[4, 3] = exp(%0)\n%3: f32[4, 3] = sub(%0, %2)\noutput %3\n");
  EXPECT_EQ(simplified("%2: f32[4, 3] = neg(%0)\n%3: f32[4, 3] = sub(%2, %0)\noutput %3"), "no change");
  EXPECT_EQ(simplified("%2: f32[4, 3] = neg(%0)\n%3: f32[4, 3] = add(%0, %2) {alpha=2}\noutput %3"), "no change");
}

TEST(SimplifyAlgebra, PowersOfTwo) {
  EXPECT_EQ(
      after("simplify_algebra", "input %0: f32[4]\nconst %1: f64[] number = 8.0\n%2: f32[4] = div(%0, %1)\noutput %2"),
      "input %0: f32[4]\nconst %1: f64[] number = 0.125\n%2: f32[4] = mul(%0, %1)\noutput %2\n");
  EXPECT_EQ(
      after("simplify_algebra", "input %0: f32[4]\nconst %1: i64[] number = -2\n%2: f32[4] = div(%0, %1)\noutput %2"),
      "input %0: f32[4]\nconst %1: f64[] number = -0.5\n%2: f32[4] = mul(%0, %1)\noutput %2\n");
  EXPECT_EQ(
      after("simplify_algebra", "input %0: i64[4]\nconst %1: i64[] number = 2\n%2: f32[4] = div(%0, %1)\noutput %2"),
      "no change");
  for (const char* c : {"6.0", "0.0", "inf", "1e-320", "1.2676506002282294e+35"})
    EXPECT_EQ(after("simplify_algebra", std::string("input %0: f32[4]\nconst %1: f64[] number = ") + c +
                                            "\n%2: f32[4] = div(%0, %1)\noutput %2"),
              "no change");
}

TEST(SimplifyAlgebra, Casts) {
  EXPECT_EQ(simplified("%2: f64[4, 3] = cast(%0) {dtype=f64}\n%3: f32[4, 3] = cast(%2) {dtype=f32}\n"
                       "%4: f32[4, 3] = exp(%3)\noutput %4"),
            "%2: f32[4, 3] = exp(%0)\noutput %2\n");
  EXPECT_EQ(simplified("%2: f64[4, 3] = cast(%0) {dtype=f64}\n%3: bf16[4, 3] = cast(%2) {dtype=bf16}\noutput %3"),
            "%2: bf16[4, 3] = cast(%0) {dtype=bf16}\noutput %2\n");
  EXPECT_EQ(simplified("%2: f16[4, 3] = cast(%0) {dtype=f16}\n%3: f32[4, 3] = cast(%2) {dtype=f32}\noutput %3"),
            "no change");  // rounds
  EXPECT_EQ(simplified("%2: f64[4, 3] = cast(%1) {dtype=f64}\n%3: i64[4, 3] = cast(%2) {dtype=i64}\noutput %3"),
            "no change");  // beyond 2^53
  EXPECT_EQ(simplified("%2: f64[4, 3] = cast(%0) {dtype=f64}\n%3: i32[4, 3] = cast(%2) {dtype=i32}\noutput %3"),
            "no change");  // beyond 2^31
}

TEST(SimplifyAlgebra, CopiesOnTheWay) {
  EXPECT_EQ(simplified("%2: f32[4, 3] = clone(%0)\n%3: f32[4, 3] = exp(%2)\noutput %3"),
            "%2: f32[4, 3] = exp(%0)\noutput %2\n");
  EXPECT_EQ(simplified("%2: f32[4, 3] = exp(%0)\n%3: f32[4, 3] = clone(%2)\noutput %3"),
            "%2: f32[4, 3] = exp(%0)\noutput %2\n");
}

TEST(SimplifyAlgebra, CopiesOfSourcesForTheCallerStay) {
  EXPECT_EQ(simplified("%2: f32[4, 3] = clone(%0)\noutput %2"), "no change");
  EXPECT_EQ(simplified("%2: f32[4, 3] = clone(%0)\n%3: f32[12] = view(%2) {shape=[12]}\noutput %3"), "no change");
}

TEST(SimplifyAlgebra, CopiesOfPartsForTheCallerStay) {
  EXPECT_EQ(simplified("%2: f32[4, 3] = exp(%0)\n%3: f32[2, 3] = narrow(%2) {dim=0, start=0, length=2}\n"
                       "%4: f32[2, 3] = clone(%3)\noutput %4"),
            "no change");
}

TEST(SimplifyAlgebra, CopiesThatOutputsShareStay) {
  EXPECT_EQ(simplified("%2: f32[4, 3] = exp(%0)\n%3: f32[4, 3] = clone(%2)\n%4: f32[12] = view(%3) {shape=[12]}\n"
                       "output %3 memory 0\noutput %4 memory 0\noutput %2 memory 1"),
            "no change");
}

TEST(SimplifyAlgebra, ViewsThatComeBack) {
  for (const char* views :
       {"%2: f32[3, 4]{1, 3} = permute(%0) {dims=[1, 0]}\n%3: f32[4, 3] = transpose(%2) {dim0=-1, dim1=0}\n",
        "%2: f32[12] = view(%0) {shape=[-1]}\n%3: f32[4, 3] = view(%2) {shape=[4, 3]}\n",
        "%2: f32[4, 1, 3] = unsqueeze(%0) {dim=1}\n%3: f32[4, 3] = squeeze(%2) {dim=[1]}\n",
        "%3: f32[4, 3] = expand(%0) {size=[-1, 3]}\n", "%3: f32[4, 3] = permute(%0) {dims=[0, 1]}\n",
        "%3: f32[4, 3] = narrow(%0) {dim=0, start=0, length=4}\n"})
    EXPECT_EQ(simplified(std::string(views) + "%4: f32[4, 3] = exp(%3)\noutput %4"),
              "%2: f32[4, 3] = exp(%0)\noutput %2\n")
        << views;
}

TEST(SimplifyAlgebra, ViewsInARow) {
  EXPECT_EQ(after("simplify_algebra",
                  "input %0: f32[2, 3, 5]\n%1: f32[3, 2, 5]{5, 15, 1} = transpose(%0) {dim0=0, dim1=1}\n"
                  "%2: f32[5, 3, 2]{1, 5, 15} = permute(%1) {dims=[2, 0, 1]}\noutput %2"),
            "input %0: f32[2, 3, 5]\n%1: f32[5, 3, 2]{1, 5, 15} = permute(%0) {dims=[2, 1, 0]}\noutput %1\n");
  EXPECT_EQ(simplified("%2: f32[12] = view(%0) {shape=[12]}\n%3: f32[2, 6] = view(%2) {shape=[2, -1]}\noutput %3"),
            "%2: f32[2, 6] = view(%0) {shape=[2, 6]}\noutput %2\n");
  EXPECT_EQ(after("simplify_algebra",
                  "input %0: f32[3]\n%1: f32[2, 3]{0, 1} = expand(%0) {size=[2, 3]}\n"
                  "%2: f32[4, 2, 3]{0, 0, 1} = expand(%1) {size=[4, -1, -1]}\noutput %2"),
            "input %0: f32[3]\n%1: f32[4, 2, 3]{0, 0, 1} = expand(%0) {size=[4, 2, 3]}\noutput %1\n");
}

TEST(SimplifyAlgebra, ViewsOfAnotherPartStay) {
  EXPECT_EQ(simplified("%2: f32[2, 3] = narrow(%0) {dim=0, start=2, length=2}\n"
                       "%3: f32[1, 3] = narrow(%2) {dim=0, start=1, length=1}\n"
                       "%4: f32[2, 3]{0, 1} = expand(%3) {size=[2, 3]}\noutput %4"),
            "no change");
}

/// A view behind a copy that goes is placed anew: its offset counts from the copy's origin then.
TEST(SimplifyAlgebra, ViewsBehindCopies) {
  EXPECT_EQ(simplified("%2: f32[4, 3] = exp(%0)\n%3: f32[2, 3] = narrow(%2) {dim=0, start=2, length=2}\n"
                       "%4: f32[2, 3] = clone(%3)\n%5: f32[1, 3] = narrow(%4) {dim=0, start=0, length=1}\n"
                       "%6: f32[1, 3] = narrow(%2) {dim=0, start=0, length=1}\n%7: f32[1, 3] = sub(%5, %6)\noutput %7"),
            "%2: f32[4, 3] = exp(%0)\n%3: f32[2, 3] = narrow(%2) {dim=0, start=2, length=2}\n"
            "%4: f32[1, 3] = narrow(%3) {dim=0, start=0, length=1}\n"
            "%5: f32[1, 3] = narrow(%2) {dim=0, start=0, length=1}\n%6: f32[1, 3] = sub(%4, %5)\noutput %6\n");
}

TEST(SimplifyAlgebra, ReductionsOverAxesOfSizeOne) {
  EXPECT_EQ(
      after("simplify_algebra", "input %0: i64[4, 1]\n%1: i64[4] = sum(%0) {dim=[1]}\n%2: i64[4] = neg(%1)\noutput %2"),
      "input %0: i64[4, 1]\n%1: i64[4] = view(%0) {shape=[4]}\n%2: i64[4] = neg(%1)\noutput %2\n");
  EXPECT_EQ(after("simplify_algebra",
                  "input %0: f32[4, 1]\n%1: f32[4] = amax(%0) {dim=[1]}\n%2: f32[4] = neg(%1)\noutput %2"),
            "input %0: f32[4, 1]\n%1: f32[4] = view(%0) {shape=[4]}\n%2: f32[4] = neg(%1)\noutput %2\n");
  EXPECT_EQ(
      after("simplify_algebra", "input %0: f32[4, 1]\n%1: f32[4] = sum(%0) {dim=[1]}\n%2: f32[4] = neg(%1)\noutput %2"),
      "no change");
}

}  // namespace
}  // namespace hw
