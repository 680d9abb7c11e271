// Bisecting with passes that are wrong on purpose. They are not registered.
#include "compiler/program/bisect.h"

#include "compiler/passes/checked_pass.h"
#include "ir/rewrite.h"

namespace hw {
namespace {

/// A sum becomes a difference, by changing the node.
bool wrong_in_place(Graph& g, const PassOptions&) {
  for (NodeId n : g.order)
    if (g.node(n).op == "add") {
      g.node(n).op = "sub";
      return true;
    }
  return false;
}

/// tanh becomes sigmoid, by a new node.
bool wrong_replacement(Graph& g, const PassOptions&) {
  Rewriter r(g);
  const std::vector<NodeId> found = find_nodes(g, "tanh");
  for (NodeId n : found) {
    const ValueId old = g.node(n).outputs[0];
    const TensorSpec spec = g.spec(old);
    const NodeId made = r.insert_before(n, "sigmoid", {g.node(n).inputs[0]}, {}, {&spec, 1});
    r.replace(old, g.node(made).outputs[0]);
    r.erase_if_unused(n);
  }
  return !found.empty();
}

const Pass kWrong[] = {{"wrong_in_place", Stage::Simplify, "for tests", &wrong_in_place},
                       {"wrong_replacement", Stage::Simplify, "for tests", &wrong_replacement}};

Pass pass_called(std::string_view name) {
  for (const Pass& p : kWrong)
    if (p.name == name) return p;
  return get_pass(name);
}

constexpr const char* kGraph = R"GRAPH(graph step
input %0 x: f32[4]
state %1 w: f32[4]
%2: f32[4] = mul(%0, %1)  @ "layer (model.py:3)"
%3: f32[4] = tanh(%2)  @ "layer (model.py:4)"
%4: f32[4] = add(%3, %0) {alpha=1}  @ "layer (model.py:5)"
%5: f32[4] = exp(%4)  @ "layer (model.py:6)"
output %5
update %1 <- %4
)GRAPH";

std::vector<Tensor> two_tensors() {
  std::mt19937 random(3);
  std::vector<Tensor> tensors;
  for (int i = 0; i < 2; ++i) {
    tensors.push_back(Tensor::empty(Dims{4}, DType::F32));
    for_each_element(tensors.back(), [&](void* p) { store_scalar(p, DType::F32, 1.0 + random() % 100 / 100.0); });
  }
  return tensors;
}

Divergence bisected(std::vector<std::string_view> names, double tolerance = 0) {
  const Graph g = parse_graph(kGraph, op_vocabulary());
  std::vector<Pass> passes;
  for (std::string_view n : names) passes.push_back(pass_called(n));
  const std::vector<Tensor> tensors = two_tensors();
  DivergenceFinder finder(tolerance);
  bisect_stages(g, tensors, {}, passes, {}, [&](BisectStage&& s) {
    finder.look(std::move(s));
    return true;
  });
  return finder.found();
}

TEST(Bisect, HoldsTheValuesOfTwoStages) {
  const Graph g = parse_graph(kGraph, op_vocabulary());
  const std::vector<Tensor> tensors = two_tensors();
  const std::vector<Pass> passes{pass_called("wrong_in_place"), pass_called("wrong_replacement")};
  DivergenceFinder finder(100);
  std::vector<Tensor> exps;
  bisect_stages(g, tensors, {}, passes, {}, [&](BisectStage&& s) {
    exps.push_back(s.results[0]);
    finder.look(std::move(s));
    for (size_t i = 0; i + 1 < exps.size(); ++i) EXPECT_EQ(exps[i]->storage->use_count(), 1) << i;
    return true;
  });
  EXPECT_EQ(exps.size(), 5u);
}

TEST(Bisect, StopsWhenTold) {
  const Graph g = parse_graph(kGraph, op_vocabulary());
  const std::vector<Tensor> tensors = two_tensors();
  int stages = 0;
  bisect_stages(g, tensors, {}, {pass_called("wrong_in_place")}, {}, [&](BisectStage&&) { return ++stages < 2; });
  EXPECT_EQ(stages, 2);
}

TEST(Bisect, NamesPassAndNodeThatWasChanged) {
  const Divergence d = bisected({"remove_dead", "merge_equal", "wrong_in_place", "form_regions"});
  EXPECT_EQ(d.pass, "wrong_in_place");
  EXPECT_NE(d.text.find("sub("), std::string::npos) << d.text;
  EXPECT_EQ(d.origin, "layer (model.py:5)");
  EXPECT_GT(d.difference, 0.01);
}

TEST(Bisect, NamesTheNewNode) {
  const Divergence d = bisected({"simplify_algebra", "wrong_replacement", "form_regions"});
  EXPECT_EQ(d.pass, "wrong_replacement");
  EXPECT_NE(d.text.find("add("), std::string::npos) << d.text;  // the first value that both graphs have
}

TEST(Bisect, FindsNothingInRightPasses) {
  EXPECT_EQ(bisected({"remove_dead", "fold_constants", "simplify_algebra", "merge_equal", "form_regions"}).pass, "");
}

TEST(Bisect, BeyondTheTolerance) { EXPECT_EQ(bisected({"wrong_in_place"}, 100).pass, ""); }

}  // namespace
}  // namespace hw
