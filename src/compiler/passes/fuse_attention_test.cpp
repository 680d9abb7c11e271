// fuse_attention on graph text.
#include "compiler/passes/checked_pass.h"

namespace hw {
namespace {

const std::string kPlain = R"(input %0 q: f32[6, 5, 8]
input %1 k: f32[6, 7, 8]
input %2 v: f32[6, 7, 4]
const %c: f32[] number = 0.25
%3: f32[6, 8, 7]{56, 1, 8} = transpose(%1) {dim0=1, dim1=2}
%4: f32[6, 5, 7] = bmm(%0, %3)
%5: f32[2, 3, 5, 7] = view(%4) {shape=[2, 3, 5, 7]}
%6: f32[2, 3, 5, 7] = mul(%5, %c)
%7: f32[2, 3, 5, 7] = softmax(%6) {dim=-1, dtype=None}
%8: f32[6, 5, 7] = view(%7) {shape=[6, 5, 7]}
%9: f32[6, 5, 4] = bmm(%8, %2)
output %9
)";

std::string with(std::string s, std::string from, std::string to) { return s.replace(s.find(from), from.size(), to); }

// Random operands hold infinities and 300, whose scores differ by rounding before they are exponents.
const Checked kAny{{}, 0, false};

std::string fused(const std::string& text) { return after("fuse_attention", text, kAny); }

/// Both graphs on mild random data.
void expect_close(const std::string& text) {
  Graph before = parse_graph(text, op_vocabulary()), g = before;
  const std::string names[] = {"fuse_attention", "remove_dead"};
  EXPECT_TRUE(run_passes(g, names, {{}, "", "", true}).records[0].changed);
  std::mt19937 random(3);
  std::vector<Tensor> tensors;
  for (const GraphSource& s : g.sources) {
    if (s.kind == GraphSource::Kind::Constant) continue;
    const TensorSpec& spec = g.spec(s.value);
    Tensor t = Tensor::empty_strided(spec.shape, spec.strides, spec.dtype);
    for_each_element(t, [&](void* p) {
      if (spec.dtype == DType::Bool)
        store_scalar(p, spec.dtype, int64_t{random() % 3 != 0});
      else
        store_scalar(p, spec.dtype, static_cast<double>(random() % 1000) / 250 - 2);
    });
    tensors.push_back(t);
  }
  std::vector<Tensor> want = evaluate_graph(before, tensors), have = evaluate_graph(g, tensors);
  for (size_t i = 0; i < want.size(); ++i) EXPECT_LT(largest_difference(want[i], have[i]), 1e-5) << text;
}

TEST(FuseAttention, ProductsAroundASoftmax) {
  EXPECT_EQ(fused(kPlain), R"(input %0 q: f32[6, 5, 8]
input %1 k: f32[6, 7, 8]
input %2 v: f32[6, 7, 4]
%3: f32[6, 8, 7]{56, 1, 8} = transpose(%1) {dim0=1, dim1=2}
%4: f32[2, 3, 5, 8] = view(%0) {shape=[2, 3, 5, 8]}
%5: f32[2, 3, 7, 4] = view(%2) {shape=[2, 3, 7, 4]}
%6: f32[2, 3, 8, 7]{168, 56, 1, 8} = view(%3) {shape=[2, 3, 8, 7]}
%7: f32[2, 3, 7, 8] = transpose(%6) {dim0=2, dim1=3}
%8: f32[2, 3, 5, 4], %9: f32[2, 3, 5] = _attention(%4, %7, %5, None) {scale=0.25}
%10: f32[6, 5, 4] = view(%8) {shape=[6, 5, 4]}
output %10
)");
  expect_close(kPlain);
}

TEST(FuseAttention, MasksThatAreAddedOrHide) {
  std::string added = with(kPlain, "const %c", "input %m m: f32[2, 1, 1, 7]\nconst %c");
  added = with(added, "%7: f32[2, 3, 5, 7] = softmax(%6)",
               "%x: f32[2, 3, 5, 7] = add(%6, %m) {alpha=1}\n%7: f32[2, 3, 5, 7] = softmax(%x)");
  EXPECT_NE(fused(added).find("nan_rows=True"), std::string::npos) << fused(added);
  expect_close(added);
  std::string hidden = with(kPlain, "const %c", "input %m m: bool[5, 7]\nconst %h: f32[] number = -inf\nconst %c");
  hidden = with(hidden, "%7: f32[2, 3, 5, 7] = softmax(%6)",
                "%x: f32[2, 3, 5, 7] = where(%m, %6, %h)\n%7: f32[2, 3, 5, 7] = softmax(%x)");
  EXPECT_EQ(fused(hidden).find("logical_not"), std::string::npos);
  expect_close(hidden);
  const std::string turned = with(hidden, "where(%m, %6, %h)", "where(%m, %h, %6)");
  EXPECT_NE(fused(turned).find("logical_not"), std::string::npos) << fused(turned);
  expect_close(turned);
}

TEST(FuseAttention, NotWhenScoresOrProbabilitiesAreReadElsewhere) {
  EXPECT_EQ(fused(kPlain + "output %7\n"), "no change");
  EXPECT_EQ(fused(kPlain + "output %8\n"), "no change");
  EXPECT_EQ(fused(kPlain + "output %4\n"), "no change");
}

TEST(FuseAttention, NotAlongAnotherAxisOrForAnotherFill) {
  EXPECT_EQ(fused(with(kPlain, "dim=-1", "dim=2")), "no change");
  std::string s = with(kPlain, "const %c", "input %m m: bool[5, 7]\nconst %h: f32[] number = -1000.0\nconst %c");
  s = with(s, "%7: f32[2, 3, 5, 7] = softmax(%6)",
           "%x: f32[2, 3, 5, 7] = where(%m, %6, %h)\n%7: f32[2, 3, 5, 7] = softmax(%x)");
  EXPECT_EQ(fused(s), "no change");
}

}  // namespace
}  // namespace hw
