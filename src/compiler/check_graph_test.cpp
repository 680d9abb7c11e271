// Nodes against the declarations of their operators.
#include "compiler/check_graph.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "ir/text.h"
#include "op/vocabulary.h"

namespace hw {
namespace {

std::string problem(std::string nodes) {
  return specs_problem(parse_graph("input %0 x: f32[4, 3]\ninput %1 n: i64[4]\n" + nodes, op_vocabulary()));
}

TEST(CheckGraph, Accepts) {
  EXPECT_EQ(problem("%2: f32[3, 4]{1, 3} = permute(%0) {dims=[1, 0]}\n%3: f32[4] = sum(%0) {dim=1}"), "");
  EXPECT_EQ(problem("%2: f64[4, 3] = add(%0, %0)"), "");        // stored as another dtype
  EXPECT_EQ(problem("%2: f32[4, 3]{1, 4} = add(%0, %0)"), "");  // in another layout
  EXPECT_EQ(problem("%2: f32[8, 3] = cat(%0, %0)"), "");
  EXPECT_EQ(problem("%2: f32[4, 3], %3: bool[4, 3] = _dropout(%0) {seed=!seed, draw=!draw0}"), "");
}

TEST(CheckGraph, Refuses) {
  EXPECT_EQ(problem("%2: f32[4, 3] = no_such(%0)"), "%2: f32[4, 3] = no_such(%0): there is no op 'no_such'");
  EXPECT_EQ(problem("%2: f32[4, 3] = add(%0)"), "%2: f32[4, 3] = add(%0): add takes 2 inputs, the node has 1");
  EXPECT_EQ(problem("%2: f32[4, 2] = exp(%0)"),
            "%2: f32[4, 2] = exp(%0): the output is f32[4, 2], by the rules f32[4, 3]");
  EXPECT_EQ(problem("%2: i64[4, 3] = exp(%0)"),
            "%2: i64[4, 3] = exp(%0): the output is i64[4, 3], by the rules f32[4, 3]");
  EXPECT_EQ(problem("%2: f32[3, 4] = permute(%0) {dims=[1, 0]}"),
            "%2: f32[3, 4] = permute(%0) {dims=[1, 0]}: the view is f32[3, 4] with strides [4, 1], by the rules "
            "f32[3, 4] with [1, 3]");
  EXPECT_EQ(problem("%2: f32[4] = add(%0, %1)").find("%2: f32[4] = add(%0, %1): add(input=f32[4, 3], other=i64[4]): "),
            0u);
  EXPECT_EQ(problem("%2: f32[4, 3], %3: f32[4, 3] = exp(%0)"),
            "%2: f32[4, 3], %3: f32[4, 3] = exp(%0): exp has 1 outputs, the node 2");
  EXPECT_EQ(problem("%2: f32[4] = sum(%0) {dim=\"one\"}"),
            "%2: f32[4] = sum(%0) {dim=\"one\"}: attribute dim cannot be 'one'");
  EXPECT_EQ(problem("%2: f32[4] = sum(%0) {dim=[1] !host0}"),
            "%2: f32[4] = sum(%0) {dim=[1] !host0}: attribute dim cannot change from run to run");
}

TEST(CheckGraph, ThrowsForUsers) {
  Graph g = parse_graph("input %0 x: f32[2]\n%1: f32[3] = exp(%0)\noutput %1", op_vocabulary());
  EXPECT_THROW(check_graph(g), Error);
}

}  // namespace
}  // namespace hw
