// A plan with one of everything, for the tests of plan files.
#pragma once

#include "plan/plan.h"

namespace hw {

inline TensorSpec sample_spec(Dims shape, DType dtype = DType::F32) {
  return {dtype, false, {}, shape, contiguous_strides(shape)};
}

/// condition: bool[1], x: f32[4, 8] -> x, copied.
inline Plan sample_branch(const char* name) {
  Plan p;
  p.name = name;
  p.origins = {""};
  p.sources = {{"condition", sample_spec({1}, DType::Bool), false, false}, {"x", sample_spec({4, 8}), false, false}};
  p.buffers = {{PlanBuffer::Kind::Output, 0, 0, 128}, {PlanBuffer::Kind::Source, 1, 0, 128}};
  p.tensors = {{0, 0, sample_spec({4, 8})}, {1, 0, sample_spec({4, 8})}};
  p.steps = {{"copy_", {0, 1}, {0}, {AttrValue(false)}, {}, DType::None, 0, -1, {}}};
  p.outputs = {128};
  p.results = {0};
  return p;
}

inline PlanLoop sample_loop() {
  PlanLoop l;
  l.counts = {4};
  l.num_inputs = 1;
  l.scratch_bytes = 32;
  l.tiles = {{0, 0, sample_spec({1, 8}), sample_spec({1, 8}), {32}},
             {-1, 0, sample_spec({1, 8}), sample_spec({1, 8}), {0}},
             {1, 0, sample_spec({1, 8}), sample_spec({1, 8}), {32}}};
  l.body = {{"relu", {0}, {1}, {}, {}, DType::F32, 0, -1, {}}, {"exp", {1}, {2}, {}, {}, DType::F32, 0, -1, {}}};
  return l;
}

inline Plan sample_plan() {
  Plan p;
  p.name = "sample";
  p.origins = {"", "layer (train.py:3)"};
  p.sources = {{"x", sample_spec({4, 8}), false, false}, {"flag", sample_spec({1}, DType::Bool), true, true}};
  p.constants = {Tensor::scalar(1.5, DType::F64, true), Tensor::scalar(-2, DType::I32)};
  p.buffers = {{PlanBuffer::Kind::Source, 0, 0, 128},   {PlanBuffer::Kind::Arena, -1, 0, 128},
               {PlanBuffer::Kind::Arena, -1, 128, 128}, {PlanBuffer::Kind::Output, 0, 0, 128},
               {PlanBuffer::Kind::Source, 1, 0, 1},     {PlanBuffer::Kind::Constant, 1, 0, 4}};
  p.tensors = {{0, 0, sample_spec({4, 8})}, {1, 0, sample_spec({4, 8})},           {2, 0, sample_spec({4, 8})},
               {3, 0, sample_spec({4, 8})}, {4, 0, sample_spec({1}, DType::Bool)}, {5, 0, sample_spec({}, DType::I32)}};
  p.steps.push_back(
      {"dropout",
       {0, -1},
       {1},
       {AttrValue(0.5), AttrValue(7), AttrValue(std::vector<double>{0.25}), AttrValue(Dims{1, 2}), AttrValue("text"),
        AttrValue(Scalar(std::complex<double>(1, 2))), AttrValue(DType::F16), AttrValue()},
       {{1, AttrBinding::Kind::Draw, 0}, {0, AttrBinding::Kind::Host, 1}, {1, AttrBinding::Kind::Seed, 0}},
       DType::F32,
       1,
       -1,
       {}});
  p.steps.push_back({"region", {1}, {2}, {}, {}, DType::None, 1, 0, {}});
  p.steps.push_back({"_cond", {4, 2, 5}, {3}, {}, {}, DType::None, 0, -1, {0, 1}});
  p.loops = {sample_loop()};
  p.bodies = {sample_branch("yes"), sample_branch("no")};
  p.outputs = {128};
  p.results = {3};
  p.arena_bytes = 256;
  p.arena_lower_bound = 256;
  p.num_draws = 1;
  p.num_host = 2;
  return p;
}

}  // namespace hw
