// The runner of passes: order, switches, records, verification.
#include "compiler/pipeline.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "base/error.h"
#include "ir/text.h"
#include "op/vocabulary.h"

namespace hw {
namespace {

Graph sample() {
  return parse_graph("input %0 x: f32[2]\n%1: f32[2] = neg(%0)\n%2: f32[2] = exp(%0)\noutput %2", op_vocabulary());
}

bool break_order(Graph& graph, const PassOptions&) {
  graph.order.clear();
  return true;
}
bool break_spec(Graph& graph, const PassOptions&) {
  graph.values[2].spec.shape = {3};
  return true;
}
const RegisterPass order_pass({"test_break_order", Stage::Memory, "for this test", &break_order});
const RegisterPass spec_pass({"test_break_spec", Stage::Memory, "for this test", &break_spec});

TEST(Pipeline, HoldsEveryPassInTheOrderOfStages) {
  std::set<std::string_view> names;
  Stage stage = Stage::Simplify;
  for (const Pass& p : pipeline()) {
    EXPECT_GE(p.stage, stage) << p.name;
    stage = p.stage;
    names.insert(p.name);
  }
  for (const Pass& p : all_passes()) {
    EXPECT_FALSE(p.doc.empty()) << p.name;
    EXPECT_TRUE(names.count(p.name) || p.name.starts_with("test_")) << p.name << " is in no stage of pipeline.cpp";
  }
  EXPECT_NE(pipeline_text().find("simplify\n  remove_dead         drops nodes"), std::string::npos) << pipeline_text();
}

TEST(Pipeline, RecordsWhatHappened) {
  Graph g = sample();
  const std::string names[] = {"remove_dead", "remove_dead"};
  PipelineResult result = run_passes(g, names, {{}, "", "remove_dead", true});
  ASSERT_EQ(result.records.size(), 2u);
  EXPECT_TRUE(result.records[0].changed);
  EXPECT_EQ(result.records[0].nodes_before, 2);
  EXPECT_EQ(result.records[0].nodes_after, 1);
  EXPECT_FALSE(result.records[1].changed);
  EXPECT_NE(result.records[0].before.find("neg"), std::string::npos);
  EXPECT_EQ(result.records[0].after.find("neg"), std::string::npos);
  EXPECT_TRUE(records_text(result).starts_with("remove_dead         2 -> 1 nodes, ")) << records_text(result);
}

TEST(Pipeline, SwitchesPassesOff) {
  Graph g = sample();
  const std::string names[] = {"remove_dead"};
  PipelineResult result = run_passes(g, names, {{}, "remove_dead", "", false});
  EXPECT_TRUE(result.records[0].off);
  EXPECT_EQ(g.order.size(), 2u);
  EXPECT_EQ(records_text(result), "remove_dead         off\n");
  setenv("HEADWATER_PASSES_OFF", " remove_dead ,", 1);
  EXPECT_TRUE(run_passes(g, names).records[0].off);
  setenv("HEADWATER_PASSES_OFF", "remove_ded", 1);
  EXPECT_THROW(run_passes(g, names), Error);
  unsetenv("HEADWATER_PASSES_OFF");
  EXPECT_FALSE(run_passes(g, names).records[0].off);
}

TEST(Pipeline, VerifiesAfterEachPass) {
  for (const char* name : {"test_break_order", "test_break_spec"}) {
    const std::string names[] = {name};
    Graph g = sample();
    try {
      run_passes(g, names, {{}, "", "", true});
      ADD_FAILURE() << name;
    } catch (const Error& e) {
      EXPECT_NE(e.message().find(std::string("after pass ") + name), std::string::npos) << e.message();
    }
  }
}

TEST(Pipeline, UnknownPass) { EXPECT_THROW(get_pass("no_such_pass"), Error); }

}  // namespace
}  // namespace hw
