// Products of bytes against the reference, bit for bit: sizes around tiles and panels, dtypes, what follows the product.
#include "backends/cpu/gemm/int8.h"

#include "kernels/compare_kernels.h"

namespace hw {
namespace {

using testing::compare_kernels;
using testing::spec;

TensorSpec packed(int64_t n, int64_t k, int64_t width) {
  return spec(DType::I8, {(n + width - 1) / width, (k + 1) / 2, width, 2});
}

int compare(Dims shape, int64_t n, int64_t width, DType in = DType::U8, DType out = DType::F32, bool offset = true,
            const char* activation = "none") {
  const int64_t k = shape.back();
  const TensorSpec none{}, one = spec(DType::F32, {});
  Dims y = shape;
  y.back() = n;
  testing::Comparison c{
      "_linear_int8",
      {spec(in, shape), packed(n, k, width), spec(DType::F32, {n}), offset ? spec(DType::F32, {n}) : none,
       out == DType::F32 ? none : one, out == DType::F32 ? none : spec(out, {})},
      {spec(out, y)},
      {AttrValue(n), AttrValue(activation)},
      {}};
  if (out != DType::F32) {
    c.fixed.emplace_back(4, testing::Buffer(64));
    const float scale = 0.37f;
    std::memcpy(c.fixed.back().second.data, &scale, sizeof scale);
  }
  return compare_kernels(std::move(c), 0);
}

TEST(Int8Linear, SizesAroundTilesAndPanels) {
  int compared = 0;
  for (int64_t width : {16, 24, 32})
    for (int64_t m : {1, 2, 3, 4, 5, 12, 13, 50})
      for (int64_t n : {1, 16, 23, 25, 49, 100})
        for (int64_t k : {0, 1, 2, 7, 64, 257}) compared += compare({m, k}, n, width);
  EXPECT_GT(compared, 250);
}

TEST(Int8Linear, DTypesAndWhatFollows) {
  for (DType in : {DType::U8, DType::I8})
    for (DType out : {DType::F32, DType::U8, DType::I8})
      for (bool offset : {false, true})
        for (const char* activation : {"none", "relu"})
          EXPECT_GT(compare({3, 7, 40}, 45, int8_width(), in, out, offset, activation), 0);
}

TEST(Int8Linear, SeveralThreadsAndParts) {
  EXPECT_GT(compare({130, 700}, 500, int8_width()), 0);
  EXPECT_GT(compare({900, 300}, 90, int8_width(), DType::U8, DType::U8), 0);  // more rows than are packed at a time
  EXPECT_GT(compare({0, 40}, 45, int8_width()), 0);
  EXPECT_GT(compare({40}, 45, int8_width()), 0);
}

TEST(Int8Linear, TheLargestSumsAreExact) {  // 255 * -128 in every product: 16 bits would saturate
  const int64_t k = 4096, n = 25, width = int8_width();
  testing::Comparison c{"_linear_int8",
                        {spec(DType::U8, {5, k}), packed(n, k, width), spec(DType::F32, {n}), {}, {}, {}},
                        {spec(DType::F32, {5, n})},
                        {AttrValue(n), AttrValue("none")},
                        {}};
  c.fixed.emplace_back(0, testing::Buffer(5 * k));
  std::memset(c.fixed.back().second.data, 255, 5 * k);
  const size_t bytes = static_cast<size_t>(packed(n, k, width).numel());
  c.fixed.emplace_back(1, testing::Buffer(bytes));
  std::memset(c.fixed.back().second.data, 0x80, bytes);
  EXPECT_GT(compare_kernels(std::move(c), 0), 0);
}

}  // namespace
}  // namespace hw
