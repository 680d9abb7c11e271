// Graphs for another batch size.
#include "compiler/set_batch.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "ir/same_graph.h"
#include "ir/text.h"
#include "op/vocabulary.h"

namespace hw {
namespace {

std::string with_batch(const std::string& graph_text, int64_t batch, bool numbers_too = false) {
  Graph g = parse_graph(graph_text, op_vocabulary()), before = g;
  try {
    set_batch(g, batch, numbers_too);
  } catch (const Error& e) {
    EXPECT_TRUE(same_graph(g, before));
    return e.message();
  }
  std::string out = print_graph(g, op_vocabulary());
  // And back, which gives the same graph again up to sizes that were written as -1.
  set_batch(g, before.spec(before.sources[0].value).shape[0], true);
  for (size_t v = 0; v < g.values.size(); ++v) EXPECT_TRUE(same_spec(g.values[v].spec, before.values[v].spec));
  return out.substr(out.find('\n') + 1);
}

const std::string kHeads = R"(input %0 x: f32[2, 5, 6]
state %1 w: f32[6, 6]
%2: f32[2, 5, 6] = linear(%0, %1, None)
%3: f32[2, 5, 3, 2] = view(%2) {shape=[-1, 5, 3, 2]}
%4: f32[2, 3, 5, 2]{30, 2, 6, 1} = permute(%3) {dims=[0, 2, 1, 3]}
%5: f32[2, 3, 5, 2] = clone(%4)
%6: f32[6, 5, 2] = view(%5) {shape=[6, 5, 2]}
%7: f32[6, 5, 2] = softmax(%6) {dim=-1}
%8: f32[2, 3, 5, 2] = view(%7) {shape=[2, 3, 5, 2]}
output %8
)";

TEST(SetBatch, FollowsMergedAxes) {
  EXPECT_EQ(with_batch(kHeads, 7), R"(input %0 x: f32[7, 5, 6]
state %1 w: f32[6, 6]
%2: f32[7, 5, 6] = linear(%0, %1, None)
%3: f32[7, 5, 3, 2] = view(%2) {shape=[7, 5, 3, 2]}
%4: f32[7, 3, 5, 2]{30, 2, 6, 1} = permute(%3) {dims=[0, 2, 1, 3]}
%5: f32[7, 3, 5, 2] = clone(%4)
%6: f32[21, 5, 2] = view(%5) {shape=[21, 5, 2]}
%7: f32[21, 5, 2] = softmax(%6) {dim=-1}
%8: f32[7, 3, 5, 2] = view(%7) {shape=[7, 3, 5, 2]}
output %8
)");
}

TEST(SetBatch, FromOneRow) {
  EXPECT_EQ(with_batch(R"(input %0 x: f32[1, 4, 3, 3]
%1: f32[1, 4, 1, 1] = mean(%0) {dim=[2, 3], keepdim=True}
%2: f32[1, 4] = view(%1) {shape=[1, 4]}
%3: f32[4] = view(%2) {shape=[4]}
%4: f32[1, 4] = view(%3) {shape=[1, 4]}
output %4
)",
                       8),
            R"(input %0 x: f32[8, 4, 3, 3]
%1: f32[8, 4, 1, 1] = mean(%0) {dim=[2, 3], keepdim=True}
%2: f32[8, 4] = view(%1) {shape=[8, 4]}
%3: f32[32] = view(%2) {shape=[32]}
%4: f32[8, 4] = view(%3) {shape=[8, 4]}
output %4
)");
}

TEST(SetBatch, RowsForTheWholeBatch) {
  EXPECT_EQ(with_batch(R"(input %0 x: f32[4, 5, 6]
state %1 token: f32[1, 1, 6]
%2: f32[4, 1, 6]{0, 6, 1} = expand(%1) {size=[4, -1, -1]}
%3: f32[4, 6, 6] = cat(%2, %0) {dim=1}
%4: f32[4, 6, 6] = full() {size=[4, 6, 6], fill_value=0, dtype=f32}
%5: f32[4, 6, 6] = add(%3, %4)
output %5
)",
                       3),
            R"(input %0 x: f32[3, 5, 6]
state %1 token: f32[1, 1, 6]
%2: f32[3, 1, 6]{0, 6, 1} = expand(%1) {size=[3, -1, -1]}
%3: f32[3, 6, 6] = cat(%2, %0) {dim=1}
%4: f32[3, 6, 6] = full() {size=[3, 6, 6], fill_value=0, dtype=f32}
%5: f32[3, 6, 6] = add(%3, %4)
output %5
)");
}

TEST(SetBatch, Refusals) {
  auto refused = [](const std::string& s, std::string_view words, bool numbers_too = false) {
    std::string message = with_batch(s, 3, numbers_too);
    EXPECT_NE(message.find(words), std::string::npos) << message;
  };
  refused("input %0: f32[4, 2]\nupdate %0 <- %0", "updates state or makes gradients");
  refused("input %0: f32[4, 2]\ninput %1: f32[2]\noutput %0", "which is the batch?");
  refused("state %0: f32[4, 2]\noutput %0", "no input with axes");
  refused("input %0: f32[4, 2]\nstate %1: f32[4, 2]\n%2: f32[4, 2] = add(%0, %1)\noutput %2",
          "for a batch of 3 instead of 4");
  refused("input %0: f32[4, 2]\nconst %1: f64[] number = 4.0\n%2: f32[4, 2] = div(%0, %1)\noutput %2",
          "the number 4 equals the batch size");
  refused("input %0: f32[4, 2]\n%1: f32[2, 2] = narrow(%0) {dim=0, start=0, length=2}\noutput %1",
          "a part of the batch");
  refused("input %0: f32[4, 2]\n%1: f32[8, 2] = cat(%0, %0)\n%2: f32[2, 4, 2] = view(%1) {shape=[2, 4, 2]}\noutput %2",
          "which of the sizes [2, 4, 2] holds the batch?");
  refused(
      "input %0: f32[1, 3]\n%1: f32[1, 3] = clone(%0)\n%2: f32[3] = view(%1) {shape=[3]}\n"
      "%3: f32[1, 1, 3] = view(%2) {shape=[1, 1, 3]}\noutput %3",
      "which of the sizes [1, 1, 3] holds the batch?");
  EXPECT_EQ(with_batch("input %0: f32[4]\nconst %1: f64[] number = 4.0\n%2: f32[4] = div(%0, %1)\noutput %2", 3, true),
            "input %0: f32[3]\nconst %1: f64[] number = 4.0\n%2: f32[3] = div(%0, %1)\noutput %2\n");
}

}  // namespace
}  // namespace hw
