// Steps over lists of parameters: results, layouts, refusals.
#include "eager/optimizer_step.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "op/math.h"

namespace hw {
namespace {

Tensor filled(Dims shape, double value) { return full(shape, Scalar(value), DType::F32); }
double first(const Tensor& t) { return load_scalar(t.data(), t.dtype()).f64(); }

TEST(OptimizerStep, SgdOfSeveralParameters) {
  Tensors lists[3] = {{filled({3}, 1), filled({2, 2}, 2)}, {filled({3}, 0.5), filled({2, 2}, 4)}, {}};
  uint32_t version = lists[0][0].version();
  optimizer_step(get_op("sgd_step"), lists, {0.1, 0.0, 0.0, 0.0, false, false, false});
  EXPECT_FLOAT_EQ(first(lists[0][0]), 0.95f);
  EXPECT_FLOAT_EQ(first(lists[0][1]), 1.6f);
  EXPECT_GT(lists[0][0].version(), version);
}

TEST(OptimizerStep, GradientInAnotherLayout) {
  Tensor param = filled({2, 3}, 0), grad = filled({3, 2}, 0);
  for (int i = 0; i < 6; ++i) grad.data_as<float>()[i] = static_cast<float>(i);
  Tensor turned = grad.alias({2, 3}, {1, 2}, 0);
  Tensors lists[3] = {{param}, {turned}, {}};
  optimizer_step(get_op("sgd_step"), lists, {1.0, 0.0, 0.0, 0.0, false, false, false});
  EXPECT_FLOAT_EQ(param.data_as<float>()[1], -2);  // element [0, 1] of the turned gradient
  EXPECT_FLOAT_EQ(param.data_as<float>()[3], -1);
}

TEST(OptimizerStep, Refusals) {
  const OpDef& op = get_op("sgd_step");
  Attrs attrs = {0.1, 0.0, 0.0, 0.0, false, false, false};
  Tensors two[2] = {{filled({3}, 1)}, {filled({3}, 1)}};
  EXPECT_THROW(optimizer_step(op, two, attrs), Error);
  Tensors uneven[3] = {{filled({3}, 1)}, {}, {}};
  EXPECT_THROW(optimizer_step(op, uneven, attrs), Error);
  Tensors shapes[3] = {{filled({3}, 1)}, {filled({4}, 1)}, {}};
  EXPECT_THROW(optimizer_step(op, shapes, attrs), Error);
}

}  // namespace
}  // namespace hw
