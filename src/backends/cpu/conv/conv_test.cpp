// Convolution and its gradients: every kernel against the reference over strides, padding, dilation, groups and layouts.
#include "kernels/compare_kernels.h"
#include "kernels/conv/geometry.h"

namespace hw {
namespace {

using testing::compare_kernels;
using testing::spec;

struct Case {
  Dims x, w, stride, padding, dilation;
  int64_t groups;
};

Dims out_shape(const Case& c) {
  Dims y{c.x[0], c.w[0]};
  for (size_t a = 0; a + 2 < c.x.size(); ++a)
    y.push_back(conv_out_size(c.x[a + 2], c.w[a + 2], c.stride[a], c.padding[a], c.dilation[a]));
  return y;
}

Attrs attrs(const Case& c, const Dims* first = nullptr) {
  Attrs a;
  if (first) a.emplace_back(*first);
  for (const Dims* d : {&c.stride, &c.padding, &c.dilation}) a.emplace_back(*d);
  a.emplace_back(c.groups);
  return a;
}

int check_all(const Case& c, DType dtype, Dims order = {}) {
  Dims y = out_shape(c);
  int n = 0;
  for (bool bias : {true, false})
    n += compare_kernels(
        {"convolution",
         {spec(dtype, c.x, order), spec(dtype, c.w, order), bias ? spec(dtype, {c.w[0]}) : TensorSpec{}},
         {spec(dtype, y)},
         attrs(c),
         {}});
  n += compare_kernels({"convolution_input_grad",
                        {spec(dtype, y, order), spec(dtype, c.w, order)},
                        {spec(dtype, c.x)},
                        attrs(c, &c.x),
                        {}});
  n += compare_kernels({"convolution_weight_grad",
                        {spec(dtype, y, order), spec(dtype, c.x, order)},
                        {spec(dtype, c.w)},
                        attrs(c, &c.w),
                        {}},
                       2);
  return n;
}

TEST(Conv, TwoDimensions) {
  const Case cases[] = {{{2, 3, 9, 8}, {5, 3, 3, 3}, {1, 1}, {1, 1}, {1, 1}, 1},
                        {{1, 4, 10, 7}, {6, 2, 3, 2}, {2, 1}, {0, 1}, {1, 2}, 2},
                        {{2, 16, 7, 7}, {33, 16, 1, 1}, {1, 1}, {0, 0}, {1, 1}, 1},
                        {{1, 3, 20, 20}, {8, 3, 7, 7}, {2, 2}, {3, 3}, {1, 1}, 1},
                        {{2, 6, 19, 40}, {6, 1, 3, 3}, {1, 1}, {1, 1}, {1, 1}, 6},
                        {{2, 6, 19, 40}, {12, 1, 5, 3}, {2, 2}, {2, 0}, {1, 1}, 6},
                        {{1, 5, 3, 90}, {5, 1, 3, 3}, {1, 1}, {4, 4}, {2, 1}, 5},
                        {{2, 8, 9, 9}, {4, 8, 1, 1}, {2, 2}, {0, 0}, {1, 1}, 1},
                        {{1, 32, 14, 14}, {48, 32, 3, 3}, {1, 1}, {1, 1}, {1, 1}, 1},
                        {{1, 1, 1, 1}, {1, 1, 1, 1}, {1, 1}, {0, 0}, {1, 1}, 1},
                        {{1, 2, 5, 5}, {2, 2, 3, 3}, {1, 1}, {4, 5}, {2, 3}, 1},
                        {{0, 3, 9, 8}, {5, 3, 3, 3}, {1, 1}, {1, 1}, {1, 1}, 1}};
  int compared = 0;
  for (const Case& c : cases)
    for (DType dtype : {DType::F32, DType::F64, DType::BF16, DType::F16}) compared += check_all(c, dtype);
  EXPECT_GT(compared, 150);
}

TEST(Conv, ChannelsLastInputs) {
  check_all({{2, 4, 9, 8}, {5, 4, 3, 3}, {1, 1}, {1, 1}, {1, 1}, 1}, DType::F32, {0, 2, 3, 1});
  check_all({{2, 4, 9, 8}, {8, 1, 3, 3}, {1, 1}, {1, 1}, {1, 1}, 4}, DType::F32, {3, 2, 1, 0});
}

TEST(Conv, OneAndThreeDimensions) {
  for (DType dtype : {DType::F32, DType::BF16}) {
    check_all({{2, 3, 30}, {4, 3, 5}, {2}, {2}, {1}, 1}, dtype);
    check_all({{2, 4, 30}, {4, 1, 3}, {1}, {1}, {1}, 4}, dtype);
    check_all({{1, 2, 5, 6, 7}, {4, 2, 3, 2, 3}, {1, 2, 1}, {1, 0, 1}, {1, 1, 2}, 1}, dtype);
    check_all({{1, 4, 5, 6, 7}, {4, 1, 3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, 4}, dtype);
  }
}

TEST(Conv, BroadcastGradientInput) {
  Case c{{2, 3, 9, 8}, {5, 3, 3, 3}, {1, 1}, {1, 1}, {1, 1}, 1};
  TensorSpec dy = spec(DType::F32, out_shape(c));
  dy.strides = {0, 0, 0, 0};
  compare_kernels({"convolution_input_grad", {dy, spec(DType::F32, c.w)}, {spec(DType::F32, c.x)}, attrs(c, &c.x), {}});
  compare_kernels({"convolution_weight_grad", {dy, spec(DType::F32, c.x)}, {spec(DType::F32, c.w)}, attrs(c, &c.w), {}},
                  3);
}

}  // namespace
}  // namespace hw
