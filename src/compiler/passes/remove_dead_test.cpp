// remove_dead on graph text.
#include "compiler/passes/checked_pass.h"

namespace hw {
namespace {

TEST(RemoveDead, DropsChains) {
  EXPECT_EQ(after("remove_dead", R"(input %0 x: f32[3]
state %1 w: f32[3]
%2: f32[3] = exp(%0)
%3: f32[3] = add(%2, %1)
%4: f32[3], %5: i64[3] = sort(%0)
%6: f32[3] = neg(%1)
output %5
update %1 <- %6
)"),
            R"(input %0 x: f32[3]
state %1 w: f32[3]
%2: f32[3], %3: i64[3] = sort(%0)
%4: f32[3] = neg(%1)
output %3
update %1 <- %4
)");
}

TEST(RemoveDead, KeepsWhatIsUsed) {
  EXPECT_EQ(after("remove_dead", "input %0: f32[3]\nstate %1: f32[3]\n%2: f32[3] = exp(%0)\ngradient %0 <- %2"),
            "no change");  // inputs and state stay, used or not
}

TEST(RemoveDead, DropsConstantsAndRenumbersSources) {
  EXPECT_EQ(after("remove_dead", "const %0: f32[] = 1.0\ninput %1: f32[3]\n%2: f32[3] = exp(%1)\nupdate %1 <- %2"),
            "input %0: f32[3]\n%1: f32[3] = exp(%0)\nupdate %0 <- %1\n");
}

}  // namespace
}  // namespace hw
