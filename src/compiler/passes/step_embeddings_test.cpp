// step_embeddings on graph text. Random rows are out of range, so nothing is run here; tests/compile/test_embedding_steps.py does.
#include "compiler/passes/checked_pass.h"

namespace hw {
namespace {

const std::string kStep = R"(input %0 dy: f32[5, 4]
input %1 rows: i64[5]
state %2 table: f32[30, 4]
%3: f32[30, 4] = _embedding_grad(%0, %1) {rows=30, padding_idx=2, scale_grad_by_freq=False}
%4: f32[30, 4] = sgd_step(%2, %3, None) {lr=0.5, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False, maximize=False, first=False}
update %2 <- %4
)";

std::string run(const std::string& graph) { return after("step_embeddings", graph, {{}, 0, false}); }

TEST(StepEmbeddings, TakesTheRows) {
  const std::string text = run(kStep);
  EXPECT_NE(text.find("%3: f32[30, 4] = embedding_sgd_step(%2, %0, %1, None)"), std::string::npos) << text;
  EXPECT_NE(text.find("padding_idx=2"), std::string::npos) << text;
  EXPECT_EQ(text.find("_embedding_grad"), std::string::npos) << text;
  EXPECT_NE(text.find("update %2 <- %3"), std::string::npos) << text;
}

TEST(StepEmbeddings, NotAGradientThatIsAResult) { EXPECT_EQ(run(kStep + "output %3\n"), "no change"); }

TEST(StepEmbeddings, NotAGradientThatIsReadElsewhere) {
  std::string s = kStep;
  s.insert(s.find("update"), "%5: f32[] = sum(%3)\n");
  EXPECT_EQ(run(s + "output %5\n"), "no change");
}

TEST(StepEmbeddings, NotAnotherGradient) {
  std::string s = kStep;
  s.replace(s.find("sgd_step(%2, %3"), 15, "sgd_step(%2, %g");
  s.insert(s.find("%4:"), "%g: f32[30, 4] = neg(%3)\n");
  EXPECT_EQ(run(s), "no change");
}

}  // namespace
}  // namespace hw
