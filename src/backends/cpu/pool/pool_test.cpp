// Pooling: every kernel against the reference, and the reference against worked examples.
#include "kernels/compare_kernels.h"
#include "kernels/pool/windows.h"

namespace hw {
namespace {

using testing::Buffer;
using testing::compare_kernels;
using testing::spec;

struct Case {
  Dims x, kernel, stride, padding, dilation;
  bool ceil_mode;
};

const Case kCases[] = {{{2, 3, 9, 8}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, false},
                       {{2, 3, 9, 8}, {2, 3}, {2, 2}, {1, 0}, {1, 2}, true},
                       {{3, 10}, {4}, {3}, {2}, {1}, true},
                       {{1, 2, 5, 6, 7}, {2, 2, 3}, {1, 2, 2}, {1, 0, 1}, {1, 1, 1}, false},
                       {{0, 3, 9, 8}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, false},
                       {{4, 40, 40}, {3, 3}, {1, 1}, {1, 1}, {2, 1}, false}};

Dims out_shape(const Case& c, bool dilated) {
  Dims y = c.x;
  size_t leading = c.x.size() - c.kernel.size();
  for (size_t a = 0; a < c.kernel.size(); ++a)
    y[leading + a] = pool_out_size(c.x[leading + a], c.kernel[a], c.stride[a], c.padding[a],
                                   dilated ? c.dilation[a] : 1, c.ceil_mode);
  return y;
}

TEST(Pool, MaxAgainstReference) {
  int compared = 0;
  for (const Case& c : kCases)
    for (DType dtype : {DType::F32, DType::F64, DType::BF16, DType::F16, DType::I32}) {
      Dims y = out_shape(c, true);
      compared += compare_kernels({"max_pool",
                                   {spec(dtype, c.x)},
                                   {spec(dtype, y), spec(DType::I64, y)},
                                   {c.kernel, c.stride, c.padding, c.dilation, c.ceil_mode},
                                   {}});
      if (!is_floating(dtype)) continue;
      std::vector<std::pair<int, Buffer>> fixed;
      fixed.emplace_back(1, Buffer(static_cast<size_t>(numel(y)) * 8));
      auto* indices = reinterpret_cast<int64_t*>(fixed[0].second.data);
      int64_t plane = 1;
      for (size_t a = c.x.size() - c.kernel.size(); a < c.x.size(); ++a) plane *= c.x[a];
      for (int64_t i = 0; i < numel(y); ++i) indices[i] = i * 7 % plane;
      compare_kernels({"max_pool_grad",
                       {spec(dtype, y), spec(DType::I64, y)},
                       {spec(dtype, c.x)},
                       {c.x, static_cast<int64_t>(c.kernel.size())},
                       std::move(fixed)});
    }
  EXPECT_GT(compared, 40);
}

TEST(Pool, AverageAgainstReference) {
  for (const Case& c : kCases)
    for (DType dtype : {DType::F32, DType::F64, DType::BF16, DType::F16})
      for (int variant = 0; variant < 3; ++variant) {
        Dims y = out_shape(c, false);
        AttrValue divisor = variant == 2 ? AttrValue(5) : AttrValue();
        Attrs attrs{c.kernel, c.stride, c.padding, c.ceil_mode, variant == 0, divisor};
        compare_kernels({"avg_pool", {spec(dtype, c.x)}, {spec(dtype, y)}, attrs, {}});
        attrs.insert(attrs.begin(), c.x);
        compare_kernels({"avg_pool_grad", {spec(dtype, y)}, {spec(dtype, c.x)}, attrs, {}}, 2);
      }
}

TEST(Pool, AdaptiveAgainstReference) {
  for (DType dtype : {DType::F32, DType::F64, DType::BF16, DType::F16})
    for (Dims size : {Dims{1, 1}, Dims{3, 5}, Dims{7, 7}, Dims{10, 2}}) {
      Dims x{2, 3, 7, 11}, y{2, 3, size[0], size[1]};
      compare_kernels({"adaptive_avg_pool", {spec(dtype, x, {0, 2, 3, 1})}, {spec(dtype, y)}, {size}, {}});
      compare_kernels({"adaptive_avg_pool_grad", {spec(dtype, y)}, {spec(dtype, x)}, {x, 2}, {}});
      compare_kernels({"adaptive_max_pool", {spec(dtype, x)}, {spec(dtype, y), spec(DType::I64, y)}, {size}, {}});
    }
}

TEST(Pool, WindowsAsInTorch) {
  EXPECT_EQ(pool_out_size(6, 3, 2, 0, 1, true), 3);
  EXPECT_EQ(pool_out_size(6, 3, 2, 0, 1, false), 2);
  EXPECT_EQ(pool_out_size(4, 2, 3, 1, 1, true), 2);  // a third window would begin in the right padding
  std::vector<TensorSpec> in{spec(DType::F32, {1, 4})}, out{spec(DType::F32, {1, 3})};
  Attrs attrs{Dims{3}, Dims{2}, Dims{1}, true, true, AttrValue()};
  PoolWindows w = read_windows({"avg_pool", in, out, attrs, DType::F32});
  EXPECT_EQ(w.axis[2].begin, (std::vector<int64_t>{0, 1, 3}));
  EXPECT_EQ(w.axis[2].count, (std::vector<int64_t>{2, 3, 1}));
  EXPECT_EQ(w.axis[2].padded, (std::vector<int64_t>{3, 3, 2}));
}

}  // namespace
}  // namespace hw
