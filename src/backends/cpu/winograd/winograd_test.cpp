// Winograd convolution: packing and every tile, layout, padding and size against the reference, and its error against float64.
#include "backends/cpu/winograd/winograd.h"

#include "base/thread_team.h"
#include "kernels/compare_kernels.h"

namespace hw {
namespace {

using testing::Buffer;
using testing::compare_kernels;
using testing::random_buffer;
using testing::run_kernel;
using testing::spec;

struct Case {
  int64_t batch, channels, out_channels, height, width, pad_h, pad_w, block = 1;
};
struct Way {
  int64_t tile, stride;
};
constexpr Way kWays[] = {{2, 1}, {4, 1}, {4, 2}};

TensorSpec packed_spec(const Case& c, int64_t tile) {
  return spec(DType::F32, {(c.out_channels + 15) / 16, (tile + 2) * (tile + 2), (c.channels + 3) / 4 * 4, 16});
}

TensorSpec image(const Case& c, int64_t channels, int64_t height, int64_t width) {
  if (c.block == 1) return spec(DType::F32, {c.batch, channels, height, width});
  return spec(DType::F32, {c.batch, channels / c.block, height, width, c.block});
}

int check_case(const Case& c, Way way) {
  int n = 0;
  auto results = [&](int64_t size, int64_t pad) { return (size + 2 * pad - 3) / way.stride + 1; };
  const TensorSpec y = image(c, c.out_channels, results(c.height, c.pad_h), results(c.width, c.pad_w));
  for (bool full : {false, true})
    n += compare_kernels(
        {"_conv2d_winograd",
         {image(c, c.channels, c.height, c.width), packed_spec(c, way.tile),
          full ? spec(DType::F32, {c.out_channels}) : TensorSpec{}, full ? y : TensorSpec{}},
         {y},
         {c.out_channels, way.tile, Dims{c.pad_h, c.pad_w}, full ? -0.5 : -INFINITY, full ? 2.0 : INFINITY, way.stride},
         {}});
  return n;
}

constexpr Case kCases[] = {{1, 16, 16, 8, 8, 1, 1},   {2, 5, 7, 9, 6, 1, 1},       {1, 40, 33, 7, 13, 0, 2},
                           {3, 20, 48, 5, 5, 1, 0},   {1, 3, 1, 3, 3, 0, 0},       {1, 17, 18, 1, 1, 1, 1},
                           {1, 4, 16, 3, 30, 5, 6},   {5, 36, 40, 7, 7, 1, 1},     {1, 16, 16, 30, 31, 1, 1},
                           {1, 1, 2, 4, 200, 1, 1},   {0, 4, 4, 8, 8, 1, 1},       {1, 8, 24, 9, 10, 1, 1, 8},
                           {2, 40, 8, 6, 7, 1, 2, 8}, {1, 48, 32, 7, 9, 0, 1, 16}, {1, 16, 16, 19, 28, 1, 1, 8}};

TEST(Winograd, EveryCaseWithEveryInstructionSetAndTeam) {
  const int before = num_threads();
  int compared = 0;
  for (int threads : {1, 2, 5}) {
    set_num_threads(threads);
    for (const Case& c : kCases)
      for (Way way : kWays) compared += check_case(c, way);
  }
  set_num_threads(before);
  EXPECT_GE(compared, 3 * 15 * 3 * 2);
}

TEST(Winograd, PackedWeights) {
  for (Way way : kWays)
    for (Dims order : {Dims{}, Dims{3, 1, 0, 2}}) {
      compare_kernels({"_winograd_pack_weight",
                       {spec(DType::F32, {35, 9, 3, 3}, order)},
                       {packed_spec({1, 9, 35, 1, 1, 0, 0}, way.tile)},
                       {way.tile, way.stride},
                       {}},
                      0.05);
      compare_kernels({"_winograd_pack_weight",
                       {spec(DType::F32, {16, 16, 3, 3}, order)},
                       {packed_spec({1, 16, 16, 1, 1, 0, 0}, way.tile)},
                       {way.tile, way.stride},
                       {}},
                      0.05);
    }
}

std::vector<float> normal(int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> draw;
  std::vector<float> v(static_cast<size_t>(count));
  for (float& x : v) x = draw(random);
  return v;
}

std::unique_ptr<Kernel> best(std::string_view op, const std::vector<TensorSpec>& in, const TensorSpec& out,
                             const Attrs& attrs) {
  return prepare_kernel({op, in, std::span(&out, 1), attrs, DType::F32}, DeviceType::CPU);
}

void run_best(std::string_view op, const std::vector<TensorSpec>& in, const std::vector<const void*>& data,
              const TensorSpec& out, float* result, const Attrs& attrs) {
  auto kernel = best(op, in, out, attrs);
  Buffer scratch(kernel->scratch_bytes());
  LaunchStatus status;
  void* outputs[] = {result};
  kernel->run({data.data(), outputs, scratch.data, &attrs, &status});
}

/// The largest error over the largest result, against sums in double.
double error_of(int64_t channels, Way way) {
  const Case c{1, channels, 16, 10, 10, 1, 1};
  const int64_t size = 9 / way.stride + 1;
  const TensorSpec x = image(c, channels, 10, 10), y = image(c, 16, size, size);
  const TensorSpec w = spec(DType::F32, {16, channels, 3, 3});
  const std::vector<float> xs = normal(x.numel(), 1), ws = normal(w.numel(), 2);
  const TensorSpec packed = packed_spec(c, way.tile);
  std::vector<float> packed_data(static_cast<size_t>(packed.numel())), got(static_cast<size_t>(y.numel()));
  run_best("_winograd_pack_weight", {w}, {ws.data()}, packed, packed_data.data(), {way.tile, way.stride});
  run_best("_conv2d_winograd", {x, packed, {}}, {xs.data(), packed_data.data(), nullptr}, y, got.data(),
           {int64_t{16}, way.tile, Dims{1, 1}, -INFINITY, INFINITY, way.stride});
  double worst = 0, largest = 0;
  for (int64_t at = 0; at < 16 * size * size; ++at) {
    const int64_t o = at / size / size, i = at / size % size, j = at % size;
    double sum = 0;
    for (int64_t p = 0; p < channels * 9; ++p) {
      const int64_t row = i * way.stride + p % 9 / 3 - 1, column = j * way.stride + p % 3 - 1;
      if (row < 0 || row > 9 || column < 0 || column > 9) continue;
      sum += static_cast<double>(xs[static_cast<size_t>((p / 9 * 10 + row) * 10 + column)]) *
             static_cast<double>(ws[static_cast<size_t>(o * channels * 9 + p)]);
    }
    worst = std::max(worst, std::abs(sum - static_cast<double>(got[static_cast<size_t>(at)])));
    largest = std::max(largest, std::abs(sum));
  }
  return worst / largest;
}

TEST(Winograd, ErrorStaysWithinTheStatedBound) {
  for (Way way : kWays)
    for (int64_t channels : {16, 64, 512, 2048}) {
      const double error = error_of(channels, way);
      EXPECT_LT(error, winograd_error(way.tile, way.stride))
          << "tile " << way.tile << ", stride " << way.stride << ", " << channels << " channels";
      EXPECT_GT(error, 1e-9) << "nothing was computed";
    }
}

}  // namespace
}  // namespace hw
