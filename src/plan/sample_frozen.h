// A small frozen model with one of everything, for tests: y = relu(x + w), twice; w is packed at load in the second form.
#pragma once

#include <algorithm>

#include "plan/frozen.h"
#include "plan/sample_plan.h"

namespace hw {

/// x, w -> relu(x + w) for rows of four.
inline Plan sample_sum(int64_t rows) {
  Plan p;
  p.name = "sum";
  p.origins = {"", "sum (train.py:3)"};
  p.sources = {{"x", sample_spec({rows, 4}), false, false},
               {"w", sample_spec({4}), true, false},
               {"unused", sample_spec({2}), true, false}};
  p.buffers = {{PlanBuffer::Kind::Source, 0, 0, rows * 16},
               {PlanBuffer::Kind::Source, 1, 0, 16},
               {PlanBuffer::Kind::Arena, -1, 0, rows * 16},
               {PlanBuffer::Kind::Output, 0, 0, rows * 16}};
  p.tensors = {{0, 0, sample_spec({rows, 4})},
               {1, 0, sample_spec({4})},
               {2, 0, sample_spec({rows, 4})},
               {3, 0, sample_spec({rows, 4})}};
  p.steps = {{"add", {0, 1}, {2}, {AttrValue(Scalar(int64_t{1}))}, {}, DType::F32, 1, -1, {}},
             {"relu", {2}, {3}, {}, {}, DType::F32, 1, -1, {}}};
  p.outputs = {rows * 16};
  p.results = {3};
  p.arena_bytes = p.arena_lower_bound = rows * 16;
  return p;
}

/// v -> -v: "packs" a weight.
inline Plan sample_packing() {
  Plan p;
  p.name = "pack";
  p.origins = {""};
  p.sources = {{"v", sample_spec({4}), true, false}};
  p.buffers = {{PlanBuffer::Kind::Source, 0, 0, 16}, {PlanBuffer::Kind::Output, 0, 0, 16}};
  p.tensors = {{0, 0, sample_spec({4})}, {1, 0, sample_spec({4})}};
  p.steps = {{"neg", {0}, {1}, {}, {}, DType::F32, 0, -1, {}}};
  p.outputs = {16};
  p.results = {1};
  return p;
}

inline Tensor sample_tensor(Dims shape, std::initializer_list<float> values) {
  Tensor t = Tensor::empty(shape, DType::F32);
  std::copy(values.begin(), values.end(), t.data_as<float>());
  return t;
}

inline FrozenModel sample_frozen() {
  FrozenModel m;
  m.name = "sample";
  m.producer = "headwater 0.1.0";
  m.inputs = {"x"};
  m.outputs = {"y"};
  m.weights = {sample_tensor({4}, {1, -2, 3, -4}), sample_tensor({4}, {-1, 2, -3, 4})};
  m.weight_names = {"w", "v"};
  m.notes = {{"labels", "a b c"}};
  FrozenForm one;
  one.inputs = one.outputs = {sample_spec({1, 4})};
  one.plan = sample_sum(1);
  one.sources = {{FrozenTie::Kind::Input, 0}, {FrozenTie::Kind::Weight, 0}, {}};
  one.results = {0};
  one.test_inputs = {sample_tensor({1, 4}, {1, 1, 1, 5})};
  one.test_outputs = {sample_tensor({1, 4}, {2, 0, 4, 1})};
  FrozenForm two = one;
  two.inputs = two.outputs = {sample_spec({2, 4})};
  two.plan = sample_sum(2);
  two.once = sample_packing();
  two.once_sources = {1};
  two.sources = {{FrozenTie::Kind::Input, 0}, {FrozenTie::Kind::Once, 0}, {}};
  two.test_inputs = {sample_tensor({2, 4}, {1, 1, 1, 5, 0, 0, 0, 0})};
  two.test_outputs = {sample_tensor({2, 4}, {2, 0, 4, 1, 1, 0, 3, 0})};
  m.forms = {one, two};
  return m;
}

}  // namespace hw
