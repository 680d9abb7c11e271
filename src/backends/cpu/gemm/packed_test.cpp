// Products by packed weights against the reference: sizes around tiles and panels, strides, what follows the product.
#include "kernels/compare_kernels.h"

#include "kernels/linalg/packed_linear.h"

namespace hw {
namespace {

using testing::compare_kernels;
using testing::spec;

TensorSpec packed(int64_t n, int64_t k, int64_t width) { return spec(DType::F32, {(n + width - 1) / width, k, width}); }

int compare(TensorSpec x, int64_t n, int64_t width, const char* activation = "none", bool bias = true,
            TensorSpec residual = {}) {
  const int64_t k = x.shape.back();
  Dims shape = x.shape;
  shape.back() = n;
  TensorSpec none;
  return compare_kernels({"_linear_packed",
                          {x, packed(n, k, width), bias ? spec(DType::F32, {n}) : none, residual},
                          {spec(DType::F32, shape)},
                          {AttrValue(n), AttrValue(activation)},
                          {}},
                         2);
}

TEST(PackedLinear, SizesAroundTilesAndPanels) {
  int compared = 0;
  for (int64_t width : {16, 24, 32})
    for (int64_t m : {1, 2, 3, 4, 5, 13, 50})
      for (int64_t n : {1, 16, 23, 25, 49, 100})
        for (int64_t k : {0, 1, 7, 64, 257, 600}) compared += compare(spec(DType::F32, {m, k}), n, width);
  EXPECT_GT(compared, 500);
}

TEST(PackedLinear, SeveralThreadsAndParts) {
  EXPECT_GT(compare(spec(DType::F32, {130, 700}), 500, packed_width()), 0);
  EXPECT_GT(compare(spec(DType::F32, {500, 300}), 90, packed_width()), 0);  // more rows than are packed at a time
  EXPECT_GT(compare(spec(DType::F32, {3, 1000}), 2000, packed_width()), 0);
}

TEST(PackedLinear, ActivationsAndResidual) {
  for (const char* activation : {"none", "relu", "gelu", "gelu_tanh", "tanh", "sigmoid", "silu"})
    for (bool bias : {false, true})
      for (bool residual : {false, true})
        for (int64_t m : {2, 17}) {
          TensorSpec add = residual ? spec(DType::F32, {m, 45}) : TensorSpec();
          EXPECT_GT(compare(spec(DType::F32, {m, 40}), 45, packed_width(), activation, bias, add), 0);
        }
}

TEST(PackedLinear, StridedInputAndResidual) {
  for (Dims order : {Dims{0, 1, 2}, Dims{1, 0, 2}, Dims{2, 1, 0}, Dims{0, 2, 1}})
    EXPECT_GT(compare(spec(DType::F32, {3, 5, 40}, order), 45, packed_width(), "relu", true,
                      spec(DType::F32, {3, 5, 45}, order)),
              0);
  TensorSpec x = spec(DType::F32, {6, 40});
  x.strides = {90, 1};
  EXPECT_GT(compare(x, 45, packed_width()), 0);
  EXPECT_GT(compare(spec(DType::F32, {0, 40}), 45, packed_width()), 0);
  EXPECT_GT(compare(spec(DType::F32, {40}), 45, packed_width()), 0);
}

TEST(PackedLinear, Packing) {
  for (int64_t width : {16, 24, 32})
    for (int64_t n : {1, 24, 100})
      for (bool turned : {false, true}) {
        const Attrs attrs{AttrValue(width)};
        EXPECT_GT(compare_kernels({"_pack_linear_weight",
                                   {spec(DType::F32, {n, 37}, turned ? Dims{1, 0} : Dims{0, 1})},
                                   {packed(n, 37, width)},
                                   attrs,
                                   {}}),
                  0);
      }
}

}  // namespace
}  // namespace hw
