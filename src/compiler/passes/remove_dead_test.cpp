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

constexpr const char* kExchanges = R"(state %0 exchanges: u8[1]
input %1 x: f32[3]
%2: u8[1], %3: f32[2] = _exchange(%0, %1) {to=[1], from=[1], shapes=[1, 2], dtype=f32}
%4: u8[1], %5: f32[2] = _exchange(%2, %1) {to=[1], from=[1], shapes=[1, 2], dtype=f32}
%6: u8[1] = _exchange(%4, %1, %1) {to=[1, 2], from=[], shapes=[], dtype=f32}
%7: f32[2] = exp(%3)
update %0 <- %6
)";

TEST(RemoveDead, KeepsWhatOtherProcessesWaitFor) {
  EXPECT_EQ(after("remove_dead", kExchanges, {{}, 0, false}),
            text(std::string_view(kExchanges).substr(0, text(kExchanges).find("%7")), "update %0 <- %6\n"));
  EXPECT_EQ(after("merge_equal", kExchanges, {{}, 0, false}), "no change");
}

}  // namespace
}  // namespace hw
