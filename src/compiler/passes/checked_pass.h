// For the tests of passes: runs one on graph text, verified, and compares the results of both graphs on random data.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>

#include "compiler/check_graph.h"
#include "compiler/evaluate.h"
#include "compiler/pipeline.h"
#include "ir/elements.h"
#include "ir/same_graph.h"
#include "ir/text.h"
#include "op/vocabulary.h"

namespace hw {

inline Tensor random_tensor(const TensorSpec& spec, std::mt19937& random) {
  Tensor t = Tensor::empty_strided(spec.shape, spec.strides, spec.dtype);
  const double special[] = {0.0, -0.0, 1.0, -1.0, INFINITY, NAN, 1e-30, 300.0};
  for_each_element(t, [&](void* p) {
    if (is_inexact(spec.dtype)) {
      double v = random() % 4 ? static_cast<double>(random() % 2000) / 500 - 2 : special[random() % 8];
      store_scalar(p, spec.dtype, v);
    } else {
      store_scalar(p, spec.dtype, static_cast<int64_t>(random() % 512) - 200);
    }
  });
  return t;
}

/// The results for inputs and state drawn with `seed`.
inline std::vector<Tensor> run_graph(const Graph& g, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Tensor> tensors;
  for (const GraphSource& s : g.sources)
    if (s.kind != GraphSource::Kind::Constant) tensors.push_back(random_tensor(g.spec(s.value), random));
  return evaluate_graph(g, tensors);
}

inline double largest_difference(const Tensor& a, const Tensor& b) {
  std::vector<double> left;
  for_each_element(a, [&](const void* p) { left.push_back(load_scalar(p, a.dtype()).f64()); });
  double most = 0;
  size_t i = 0;
  for_each_element(b, [&](const void* p) {
    const double x = left[i++], y = load_scalar(p, b.dtype()).f64();
    if (!(x == y) && !(x != x && y != y)) most = std::max(most, std::fabs(x - y) / std::max(1.0, std::fabs(x)));
  });
  return most;
}

struct Checked {
  PassOptions options;
  double tolerance = 0;  // 0: bit for bit
  bool runs = true;      // false: the graph cannot be run on random data
};

/// The text after the pass, with remove_dead behind it; "no change" if the pass says so.
inline std::string after(const std::string& pass, const std::string& graph_text, const Checked& how = {}) {
  Graph before = parse_graph(graph_text, op_vocabulary()), g = before;
  check_graph(before);
  const std::string names[] = {pass};
  PipelineResult record = run_passes(g, names, {how.options, "", "", true});
  std::string why;
  EXPECT_EQ(same_graph(before, g, &why), !record.records[0].changed) << why;
  if (!record.records[0].changed) return "no change";
  for (unsigned seed = 0; how.runs && seed < 3; ++seed) {
    std::vector<Tensor> want = run_graph(before, seed), have = run_graph(g, seed);
    for (size_t i = 0; i < want.size(); ++i) {
      if (how.tolerance == 0)
        EXPECT_TRUE(same_elements(want[i], have[i]))
            << graph_text << "\nresult " << i << print_graph(g, op_vocabulary());
      else
        EXPECT_LT(largest_difference(want[i], have[i]), how.tolerance) << "result " << i;
    }
  }
  const std::string clean[] = {"remove_dead"};
  run_passes(g, clean);
  std::string out = print_graph(g, op_vocabulary());
  return out.substr(out.find('\n') + 1);
}

}  // namespace hw
