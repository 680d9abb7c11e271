// Graph text: printed form, reading it back, refusals, and texts damaged at random.
#include "ir/text.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <random>

#include "base/error.h"
#include "ir/same_graph.h"
#include "ir/verify.h"

namespace hw {
namespace {

constexpr std::string_view kMlp = R"graph(graph train.step draws=1 host=2
input %0 x: f32[64, 784]
state %1 model.fc1.weight: f32[512, 784]
state %2 "0.weight [copy]": f32[784, 512]{1, 784}
const %3: f64[] number = 0.5
const %4: f32[3] = [1.0, -0.0, nan]
%5: f32[64, 512] = linear(%0, %1, None) @ "fc1 (train.py:31)"
%6: f32[64, 512] = mul(%5, %3)
%7: f32[64, 512], %8: bool[64, 512] = _dropout(%6) {p=0.25, seed=!seed, draw=!draw0} @ "fc1 (train.py:31)"
%9: f32[512] = sum(%7) {dim=[0]}
%10: f16[512] = cast(%9) {dtype=f16}
output %10
output %9 memory 0
update %1 <- %1
gradient %2 <- %2
)graph";

/// Some operators as they are declared.
class Words final : public OpVocabulary {
 public:
  bool attr(std::string_view op, size_t index, AttrWord& word) const override {
    auto it = ops_.find(op);
    if (it == ops_.end() || index >= it->second.size()) return false;
    const Declared& d = it->second[index];
    word = {d.name, d.kind, d.required ? nullptr : &d.otherwise};
    return true;
  }

 private:
  using K = AttrValue::Kind;
  struct Declared {
    std::string_view name;
    K kind;
    AttrValue otherwise;
    bool required = false;
  };
  std::map<std::string_view, std::vector<Declared>> ops_{
      {"add", {{"alpha", K::Scalar, Scalar(1)}}},
      {"cast", {{"dtype", K::DType, {}, true}}},
      {"sum", {{"dim", K::Ints, {}}, {"keepdim", K::Bool, false}, {"dtype", K::DType, {}}}},
      {"_dropout", {{"p", K::Float, 0.5}, {"seed", K::Int, 0}, {"draw", K::Int, 0}}}};
};
const Words kWords;

Graph parse(std::string_view s) { return parse_graph(s, kWords); }
std::string print(const Graph& g, PrintOptions o = {}) { return print_graph(g, kWords, o); }

std::string message(std::string_view s) {
  try {
    parse(s);
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::Value);
    return e.message();
  }
  return "no error";
}

TEST(GraphText, PrintsWhatItReads) {
  Graph g = parse(kMlp);
  EXPECT_EQ(print(g), kMlp);
  EXPECT_EQ(graph_problem(g), "");
  std::string why;
  EXPECT_TRUE(same_graph(g, parse(print(g)), &why)) << why;
  EXPECT_EQ(g.name, "train.step");
  EXPECT_EQ(g.sources[2].name, "0.weight [copy]");
  EXPECT_EQ(g.spec(2).strides, (Dims{1, 784}));
  EXPECT_TRUE(g.spec(3).wrapped);
  EXPECT_EQ(g.node(2).bindings.size(), 2u);
  EXPECT_EQ(g.node(0).origin, g.node(2).origin);
  EXPECT_EQ(g.node(3).attrs[0].ints(), Dims{0});
}

TEST(GraphText, NumbersAreCanonical) {
  Graph g = parse("input %a: f32[2] # the first\n\n  %long_name: f32[2] = neg(%a)\n output %long_name");
  EXPECT_EQ(print(g), "graph graph\ninput %0: f32[2]\n%1: f32[2] = neg(%0)\noutput %1\n");
}

constexpr std::string_view kBodies = R"graph(graph outer
input %0 x: f32[4]
%1: f32[4] = _branch(%0) {#0=[4]} @ "f (a.py:1)" with
  graph yes draws=1
  input %0: f32[4]
  %1: f32[4] = _region(%0) with
    graph inner
    input %0: f32[4]
    %1: f32[4] = exp(%0)
    output %1
  end
  output %1
  graph no
  input %0: f32[4]
  output %0
end
%2: f32[4] = neg(%1)
output %2
)graph";

TEST(GraphText, Bodies) {
  Graph g = parse(kBodies);
  EXPECT_EQ(print(g), kBodies);
  EXPECT_EQ(graph_problem(g), "");
  ASSERT_EQ(g.node(0).bodies.size(), 2u);
  EXPECT_EQ(g.node(0).bodies[0]->name, "yes");
  std::string why, other(kBodies);
  EXPECT_TRUE(same_graph(g, parse(kBodies), &why)) << why;
  other.replace(other.find("exp"), 3, "log");
  EXPECT_FALSE(same_graph(g, parse(other), &why));
  EXPECT_EQ(why, "node 0, _branch: body 0: node 0, _region: body 0: node 0, exp: the other is log");
  Graph broken = *g.node(0).bodies[0];
  broken.order.clear();
  g.node(0).bodies[0] = std::make_shared<const Graph>(broken);
  EXPECT_EQ(graph_problem(g), "node 0, _branch, body 0: result 0 is %1, which is not made");
  EXPECT_EQ(message(kBodies.substr(0, kBodies.find("  end"))),
            "graph text, line 11, column 1: expected graph or end, found the end of the text");
  std::string deep;
  for (int i = 0; i < 30; ++i) deep += "graph g\ninput %0: f32[]\n%1: f32[] = f(%0) with\n";
  EXPECT_NE(message(deep).find("more than 20 graphs inside each other"), std::string::npos);
}

TEST(GraphText, NodeText) {
  Graph g = parse(kMlp);
  EXPECT_EQ(node_text(g, 3, kWords), "%9: f32[512] = sum(%7) {dim=[0]}");
}

/// A node of an unknown op, so that every kind of attribute can be written.
TEST(GraphText, AttributesOfEveryKind) {
  const double inf = std::numeric_limits<double>::infinity();
  Graph g;
  ValueId x = g.add_source(GraphSource::Kind::Input, {DType::F32, false, {}, {2}, {}}, "x");
  Attrs attrs = {AttrValue(),
                 true,
                 3,
                 int64_t{std::numeric_limits<int64_t>::min()},
                 1.0,
                 0.1,
                 -0.0,
                 1e300,
                 inf,
                 -inf,
                 std::nan(""),
                 Scalar(true),
                 Scalar(7),
                 Scalar(2.0),
                 Scalar(std::complex<double>(1, -0.0)),
                 Scalar(std::complex<double>(-inf, std::nan(""))),
                 "a \"text\"\n\\ \x01 é",
                 Dims{},
                 Dims{-1, 5},
                 std::vector<double>{},
                 std::vector<double>{1, 2},
                 std::vector<double>{0.5, inf},
                 DType::BF16,
                 DType::None,
                 DType::I32};
  for (const char* op : {"no_such_op", "add"}) {  // add has one attribute, a Scalar
    for (const AttrValue& a : attrs) {
      Graph one = g;
      one.add(op, {x, x}, {a}, g.spec(x));
      std::string why, s = print(one);
      EXPECT_TRUE(same_graph(one, parse(s), &why)) << s << why;
    }
  }
  g.add("no_such_op", {x, kNone}, attrs, g.spec(x));
  std::string why, s = print(g);
  EXPECT_TRUE(same_graph(g, parse(s), &why)) << s << why;
}

TEST(GraphText, ConstantsOfEveryDtype) {
  std::mt19937 random(7);
  for (int d = 0; d < kNumDTypes; ++d) {
    DType dtype = static_cast<DType>(d);
    Graph g;
    for (Dims shape : {Dims{}, Dims{0}, Dims{2, 3}, Dims{3, 2}}) {
      Tensor t = Tensor::empty(shape, dtype);
      for (int64_t i = 0; i < t.numel() * dtype_size(dtype); ++i)
        static_cast<uint8_t*>(t.data())[i] = static_cast<uint8_t>(dtype == DType::Bool ? random() & 1 : random());
      if (shape == Dims{3, 2}) t = t.alias({2, 3}, {1, 2}, 0);
      g.add_source(GraphSource::Kind::Constant, t.spec(), "", t);
    }
    std::string why, s = print(g);
    EXPECT_TRUE(same_graph(g, parse(s), &why)) << s << why;
  }
}

TEST(GraphText, LargeConstantsAreDigests) {
  Graph g;
  Tensor t = Tensor::empty(Dims{100}, DType::F32);
  for (int i = 0; i < 100; ++i) t.data_as<float>()[i] = static_cast<float>(i) / 3;
  g.add_source(GraphSource::Kind::Constant, t.spec(), "table", t);
  std::string s = print(g);
  EXPECT_NE(s.find("= #" + constant_digest(t) + "..."), std::string::npos) << s;
  EXPECT_LT(s.size(), 100u);
  EXPECT_NE(message(s).find("not in the text"), std::string::npos);
  EXPECT_TRUE(same_graph(g, parse_graph(s, kWords, {{&t, 1}, false})));
  Graph zeros = parse_graph(s, kWords, {{}, true});
  EXPECT_EQ(zeros.sources[0].tensor.data_as<float>()[99], 0);
  EXPECT_FALSE(same_graph(g, zeros));
  EXPECT_TRUE(same_graph(g, parse(print(g, {-1, true}))));
  Tensor turned = Tensor::empty(Dims{2, 3}, DType::I8).alias(Dims{3, 2}, Dims{1, 3}, 0);
  EXPECT_NE(constant_digest(turned), constant_digest(turned.alias({2, 3}, {3, 1}, 0)));
}

TEST(GraphText, ErrorsNameLineAndColumn) {
  EXPECT_EQ(message("input %0 x: f32[2]\n%1: f32[2] = neg(%7)\n"),
            "graph text, line 2, column 18: %7 is not defined above this line");
  EXPECT_EQ(message("input %0 x: f33[2]"), "graph text, line 1, column 13: there is no dtype 'f33'");
  EXPECT_EQ(message("input %0: f32[2\n"), "graph text, line 1, column 16: expected ',', found the end of the line");
  EXPECT_EQ(message("input %0: f32[-2]"), "graph text, line 1, column 15: a size cannot be negative");
  EXPECT_NE(message("input %0: f32[9223372036854775807, 4]").find("line 1, column 11: shape"), std::string::npos);
  EXPECT_EQ(message("input %0: f32[2]\ninput %0: f32[2]"), "graph text, line 2, column 7: %0 is defined twice");
  EXPECT_EQ(message("input %0: f32[2]\n%1: f32[2] = add(%0, %0) {beta=2}"),
            "graph text, line 2, column 27: add has no attribute 'beta'");
  EXPECT_EQ(message("input %0: f32[2]\n%1: f32[2] = cast(%0)"),
            "graph text, line 2, column 14: cast needs the attribute 'dtype'");
  EXPECT_EQ(message("const %0: u8[] = 256"),
            "graph text, line 1, column 18: the element 256 is out of the range of u8");
  EXPECT_EQ(message("const %0: f32[3] = [1.0, 2.0]"),
            "graph text, line 1, column 20: there are 2 elements for the shape [3]");
  EXPECT_EQ(message("input %0: f32[2]\n%1: f32[2] = neg(%0) @ \"open"),
            "graph text, line 2, column 25: the text in quotes does not end on its line");
  EXPECT_EQ(message("input %0: f32[2]\n%1: f32[2] = neg(%0)\nupdate %1 <- %0"),
            "graph text, line 3, column 8: this is not an input or a state, but made by a node");
  EXPECT_EQ(message("hello"),
            "graph text, line 1, column 1: expected input, state, const, output, update, gradient or a value such as "
            "%0, found 'hello'");
}

/// Whatever is done to a text, it is refused with an error or read as a graph that prints and reads back the same.
TEST(GraphText, DamagedTexts) {
  std::mt19937 random(20240607);
  const std::string_view pieces[] = {"%",   "{",      "}",      "[",  "]",    "(",         ")",     ",",     "\n",
                                     "=",   "!",      "#",      "\"", "None", "f32[",      "-",     "1e999", ".",
                                     "\\x", "update", "0",      "9",  "inf",  "i",         "ints(", "\xff",  "@ ",
                                     "...", "nan",    "number", "<-", " ",    "on cuda:1", "with",  "end",   "graph"};
  int read = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string s(round % 4 ? kMlp : kBodies);
    for (int edits = 1 + static_cast<int>(random() % 4); edits-- > 0;) {
      size_t at = random() % s.size(), length = std::min<size_t>(random() % 6, s.size() - at);
      std::string_view piece = pieces[random() % std::size(pieces)];
      switch (random() % 4) {
        case 0: s.insert(at, piece); break;
        case 1: s.erase(at, length); break;
        case 2: s.replace(at, length, piece); break;
        default: s[at] = static_cast<char>(random()); break;
      }
      if (s.empty()) s = "x";
    }
    try {
      Graph g = parse(s);
      ++read;
      graph_problem(g);
      std::string why, again = print(g);
      ASSERT_TRUE(same_graph(g, parse(again), &why)) << s << "\n" << again << "\n" << why;
    } catch (const Error& e) {
      ASSERT_TRUE(e.message().starts_with("graph text, line ")) << e.message() << "\n" << s;
    }
  }
  EXPECT_GT(read, 500);
}

}  // namespace
}  // namespace hw
