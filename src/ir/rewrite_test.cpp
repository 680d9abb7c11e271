// Graph surgery, patterns and the verifier.
#include "ir/rewrite.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "ir/pattern.h"
#include "ir/text.h"
#include "ir/verify.h"

namespace hw {
namespace {

class NoWords final : public OpVocabulary {
 public:
  bool attr(std::string_view, size_t, AttrWord&) const override { return false; }
};
const NoWords kWords;

Graph parse(std::string_view s) { return parse_graph(s, kWords); }
std::string print(const Graph& g) {
  EXPECT_EQ(graph_problem(g), "");
  return print_graph(g, kWords);
}

constexpr std::string_view kChain = R"(graph chain
input %0 x: f32[2]
state %1 w: f32[2]
const %2: f32[] = 2.0
%3: f32[2] = mul(%0, %1)
%4: f32[2] = neg(%3) @ "here"
%5: f32[2] = add(%4, %3)
output %5
update %1 <- %3
)";

TEST(Rewriter, KnowsUses) {
  Graph g = parse(kChain);
  Rewriter r(g);
  EXPECT_EQ(r.uses(3).size(), 3u);
  EXPECT_TRUE(r.is_result(3));
  EXPECT_TRUE(r.used_once(4));
  EXPECT_FALSE(r.is_result(4));
  EXPECT_TRUE(r.unused(2));
  EXPECT_TRUE(r.made_by(4, "neg"));
  EXPECT_FALSE(r.made_by(4, "add"));
  EXPECT_FALSE(r.made_by(0, "neg"));
}

TEST(Rewriter, ANodeTakesOverItsOneReader) {
  Graph g = parse(R"(graph grow
input %0 x: f32[2]
%1: f32[2] = neg(%0) @ "conv"
%2: f32[2] = exp(%0)
%3: f32[2] = add(%1, %2)
output %3
)");
  {
    Rewriter r(g);
    EXPECT_EQ(r.made_for_one(1), 0);
    EXPECT_EQ(r.made_for_one(3), kNone);  // a result
    EXPECT_EQ(r.made_for_one(0), kNone);  // nobody makes it
    EXPECT_EQ(r.made_for_one(kNone), kNone);
    r.take_over(2, 0, {0, 2}, {});
  }
  EXPECT_EQ(print(g), R"(graph grow
input %0 x: f32[2]
%1: f32[2] = exp(%0)
%2: f32[2] = neg(%0, %1) @ "conv"
output %2
)");
}

TEST(Rewriter, ReplacesAndErases) {
  Graph g = parse(kChain);
  Rewriter r(g);
  r.replace(3, 0);
  EXPECT_THROW(r.erase(1), Error);  // neg is used
  EXPECT_EQ(r.erase_if_unused(0), 1);
  r.finish();
  EXPECT_EQ(print(g), R"(graph chain
input %0 x: f32[2]
state %1 w: f32[2]
const %2: f32[] = 2.0
%3: f32[2] = neg(%0) @ "here"
%4: f32[2] = add(%3, %0)
output %4
update %1 <- %0
)");
}

TEST(Rewriter, InsertsAtEveryPlace) {
  Graph g = parse(kChain);
  {
    Rewriter r(g);
    ValueId doubled = r.add(1, "scale", {3, 2}, {}, g.spec(3));
    r.set_input(1, 0, doubled);
    NodeId last = r.insert_after(r.last(), "abs", {5}, {}, std::span(&g.values[5].spec, 1));
    r.set_result(0, r.node(last).outputs[0]);
    NodeId first = r.insert_after(kNone, "exp", {0}, {}, std::span(&g.values[0].spec, 1));
    r.set_input(0, 0, r.node(first).outputs[0]);
    EXPECT_EQ(r.first(), first);
    EXPECT_EQ(r.last(), last);
    EXPECT_EQ(r.previous(r.next(0)), 0);
  }
  EXPECT_EQ(print(g), R"(graph chain
input %0 x: f32[2]
state %1 w: f32[2]
const %2: f32[] = 2.0
%3: f32[2] = exp(%0)
%4: f32[2] = mul(%3, %1)
%5: f32[2] = scale(%4, %2) @ "here"
%6: f32[2] = neg(%5) @ "here"
%7: f32[2] = add(%6, %4)
%8: f32[2] = abs(%7)
output %8
update %1 <- %4
)");
}

TEST(Rewriter, ErasesDownToSources) {
  Graph g = parse(kChain);
  Rewriter r(g);
  r.set_result(0, 0);
  r.set_result(1, 0);
  EXPECT_EQ(r.erase_if_unused(r.last()), 3);
  EXPECT_EQ(r.first(), kNone);
  EXPECT_EQ(r.last(), kNone);
  r.finish();
  EXPECT_EQ(erase_unused_constants(g), 1);
  EXPECT_EQ(print(g), "graph chain\ninput %0 x: f32[2]\nstate %1 w: f32[2]\noutput %0\nupdate %1 <- %0\n");
}

TEST(Rewriter, ConstantsInTheMiddleGo) {
  Graph g =
      parse("const %0: f32[] = 1.0\ninput %1 x: f32[]\nconst %2: f32[] = 2.0\n%3: f32[] = f(%1, %2)\nupdate %1 <- %3");
  EXPECT_EQ(erase_unused_constants(g), 1);
  EXPECT_EQ(print(g),
            "graph graph\ninput %0 x: f32[]\nconst %1: f32[] = 2.0\n%2: f32[] = f(%0, %1)\nupdate %0 <- %2\n");
  EXPECT_EQ(g.source_of(0), kNone);
}

TEST(Rewriter, FindsNodes) {
  Graph g = parse(kChain);
  EXPECT_EQ(find_nodes(g, "neg"), std::vector<NodeId>{1});
  EXPECT_TRUE(find_nodes(g, "exp").empty());
  std::vector<bool> yes = computed_from(g, 1u << static_cast<unsigned>(GraphSource::Kind::State));
  EXPECT_TRUE(yes[1]);
  EXPECT_FALSE(yes[3]);
}

TEST(Pattern, Matches) {
  Graph g = parse(kChain);
  Pattern::Match m;
  EXPECT_TRUE(Pattern("add(neg(y), y)").matches(g, 2, m));
  EXPECT_EQ(m["y"], 3);
  EXPECT_EQ(m.nodes, (std::vector<NodeId>{2, 1}));
  EXPECT_FALSE(Pattern("add(neg(y), z)").matches(g, 1, m));
  EXPECT_FALSE(Pattern("add(y, y)").matches(g, 2, m));
  EXPECT_TRUE(Pattern("sub|add(neg(mul(x, _)), ...)").matches(g, 2, m));
  EXPECT_EQ(m["x"], 0);
  EXPECT_THROW(m["q"], Error);
  EXPECT_FALSE(Pattern("add(neg(y))").matches(g, 2, m));
  EXPECT_FALSE(Pattern("add(neg(y), y, None)").matches(g, 2, m));
  EXPECT_EQ(Pattern("neg|mul(...)").find(g).size(), 2u);
  for (const char* bad : {"", "x", "f(", "f(x", "f(x y)", "f(..., x)", "f|g", "f(x))", "f(%)"})
    EXPECT_THROW(Pattern{bad}, Error) << bad;
}

TEST(Pattern, OptionalInputs) {
  Graph g = parse("input %0 x: f32[2]\n%1: f32[2] = f(%0, None)\noutput %1");
  Pattern::Match m;
  EXPECT_TRUE(Pattern("f(x, None)").matches(g, 0, m));
  EXPECT_FALSE(Pattern("f(x, b)").matches(g, 0, m));
  EXPECT_FALSE(Pattern("f(None, None)").matches(g, 0, m));
}

TEST(Verify, FindsEachFault) {
  auto broken = [](auto&& how) {
    Graph g = parse(kChain);
    how(g);
    print_graph(g, kWords);  // prints whatever it is
    std::string problem = graph_problem(g);
    EXPECT_THROW(verify_graph(g, "a test"), Error) << problem;
    return problem;
  };
  using G = Graph&;
  EXPECT_EQ(broken([](G g) { std::swap(g.order[0], g.order[1]); }), "node 1, neg, reads %3 before it is made");
  EXPECT_EQ(broken([](G g) { g.order.erase(g.order.begin()); }), "node 1, neg, reads %3 before it is made");
  EXPECT_EQ(broken([](G g) { g.order.push_back(0); }), "node 0, mul, is twice in the order");
  EXPECT_EQ(broken([](G g) { g.order.push_back(9); }), "the order names node 9, which there is not");
  EXPECT_EQ(broken([](G g) { g.nodes[1].inputs[0] = 77; }), "node 1, neg, reads value 77, which there is not");
  EXPECT_EQ(broken([](G g) { g.nodes[1].outputs[0] = 3; }),
            "node 1, neg: output 0, %3, says that something else makes it");
  EXPECT_EQ(broken([](G g) {
              g.nodes[1].bindings.push_back({0, AttrBinding::Kind::Draw, 0});
            }),
            "node 1, neg: a binding names attribute 0");
  EXPECT_EQ(broken([](G g) {
              g.nodes[1].attrs.push_back(1);
              g.nodes[1].bindings.push_back({0, AttrBinding::Kind::Host, 0});
            }),
            "node 1, neg: a binding has number 0 of 0");
  EXPECT_EQ(broken([](G g) { g.nodes[1].origin = 12; }), "node 1: origin 12");
  EXPECT_EQ(broken([](G g) { g.results[0].value = kNone; }), "result 0 is %-1, which is not made");
  EXPECT_EQ(broken([](G g) { g.results[1].source = 5; }), "result 1 names source 5, which there is not");
  EXPECT_EQ(broken([](G g) { g.results[1].source = 2; }), "result 1 changes the constant ");
  EXPECT_EQ(broken([](G g) { g.results.push_back(g.results[1]); }), "results 1 and 2 are for the same source w");
  EXPECT_EQ(broken([](G g) { g.sources[2].tensor = Tensor(); }), "the constant %2 has no data");
  EXPECT_EQ(broken([](G g) { g.sources[1].value = 5; }), "source 1, w: its value %5 says that something else makes it");
  EXPECT_EQ(broken([](G g) { g.values[4].spec.strides.clear(); }), "value %4 has no strides");
  EXPECT_EQ(broken([](G g) { g.values[5].spec.dtype = DType::None; }), "value %5 has no dtype");
  EXPECT_EQ(broken([](G g) { g.values[3].spec.shape = {3}, g.values[3].spec.strides = {1}; }),
            "result 1, of shape [3], is for w of shape [2]");
}

}  // namespace
}  // namespace hw
