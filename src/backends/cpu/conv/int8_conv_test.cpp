// Convolutions of bytes against the reference, bit for bit: kernels, strides, blocks, dtypes, what follows, threads, and the VNNI
// routines, also with their instruction in plain code.
#include "backends/cpu/conv/int8_conv.h"

#include <functional>

#include "base/team_scope.h"
#include "kernels/compare_kernels.h"

namespace hw {
namespace {

using testing::Buffer;
using testing::compare_kernels;
using testing::spec;

struct Case {
  int64_t batch = 1, in = 16, out = 16, h = 7, w = 9, kernel = 3, stride = 1, padding = 1, dilation = 1;
  int64_t block_in = 8, block_out = 8;
  bool depthwise = false;
  DType x = DType::U8, y = DType::F32, residual = DType::Bool;  // Bool: none
  bool zero = true, offset = true;
  const char* activation = "none";
  bool both = false;  // floats beside bytes
};

Buffer bytes_of(int64_t count, unsigned seed) {
  Buffer b(static_cast<size_t>(count));
  std::mt19937 random(seed);
  for (int64_t i = 0; i < count; ++i) b.data[i] = static_cast<char>(random() % 256);
  return b;
}
Buffer number(float v) {
  Buffer b(64);
  std::memcpy(b.data, &v, sizeof v);
  return b;
}

testing::Comparison comparison(const Case& c) {
  const TensorSpec none{}, one = spec(DType::F32, {});
  const Dims x =
      c.block_in == 1 ? Dims{c.batch, c.in, c.h, c.w} : Dims{c.batch, c.in / c.block_in, c.h, c.w, c.block_in};
  const auto size = [&](int64_t in) { return (in + 2 * c.padding - c.dilation * (c.kernel - 1) - 1) / c.stride + 1; };
  const Dims y{c.batch, c.out / c.block_out, size(c.h), size(c.w), c.block_out};
  const TensorSpec w = c.depthwise ? spec(DType::I8, {(c.out + 15) / 16, (c.kernel * c.kernel + 1) / 2, 2, 16})
                                   : spec(DType::I8, {c.out / 8, c.kernel, c.kernel, (c.in + 3) / 4, 8, 4});
  const bool steps = c.residual == DType::U8 || c.residual == DType::I8, quantised = c.y != DType::F32;
  const TensorSpec rest = c.residual == DType::Bool ? none : spec(c.residual, y);
  testing::Comparison made{
      c.both ? "_conv2d_int8_both" : "_conv2d_int8",
      {spec(c.x, x), w, spec(DType::F32, {c.out}), c.zero ? spec(c.x, {}) : none,
       c.offset ? spec(DType::F32, {c.out}) : none, rest, steps ? one : none, steps ? spec(c.residual, {}) : none,
       quantised ? one : none, quantised ? spec(c.y, {}) : none},
      {spec(c.y, y)},
      {AttrValue(c.out), Dims{c.kernel}, Dims{c.stride}, Dims{c.padding}, Dims{c.dilation}, AttrValue(c.activation),
       AttrValue(c.block_out), AttrValue(-1000.0), AttrValue(2500.0)},
      {}};
  if (c.both) made.outputs.insert(made.outputs.begin(), spec(DType::F32, y));
  made.fixed.emplace_back(0, bytes_of(made.inputs[0].numel(), 1));
  // Weights of channels that are not there are zero, as they are packed.
  Buffer weight = bytes_of(w.numel(), 2);
  if (!c.depthwise && c.in % 4)
    for (int64_t i = 0; i < w.numel(); ++i)
      if (i / 32 % w.shape[3] * 4 + i % 4 >= c.in) weight.data[i] = 0;
  made.fixed.emplace_back(1, std::move(weight));
  if (steps) made.fixed.emplace_back(5, bytes_of(rest.numel(), 3)), made.fixed.emplace_back(6, number(0.21f));
  if (quantised) made.fixed.emplace_back(8, number(413.0f));
  return made;
}

int compare(const Case& c) { return compare_kernels(comparison(c), 0); }

void compare_routines(testing::Comparison made, const Int8ConvRoutines* first, const Int8ConvRoutines& all);
/// By vpmaddubsw also on a processor with VNNI, and by 16-bit pairs.
void compare_avx2(const std::function<testing::Comparison()>& make) {
  for (Isa level : {Isa::AVX2, Isa::AVX512}) {
    if (level > isa_found() || isa_found() == Isa::Neon) continue;
    const Isa found = isa();
    set_isa(level);
    const Int8ConvRoutines bytes = int8_conv_avx2_bytes();
    compare_routines(make(), &bytes, int8_conv_routines());
    compare_routines(make(), nullptr, int8_conv_routines());
    set_isa(found);
  }
}

TEST(Int8Conv, KernelsStridesAndBlocks) {
  for (int64_t in : {8, 24, 64})
    for (int64_t out : {8, 40})
      for (int64_t kernel : {1, 3, 5})
        for (int64_t stride : {1, 2}) {
          Case c;
          c.in = in, c.out = out, c.kernel = kernel, c.stride = stride, c.padding = kernel / 2;
          EXPECT_GT(compare(c), 0);
        }
  for (int64_t in : {16, 32})
    for (int64_t out : {8, 16}) {
      Case c;
      c.in = c.out = 32, c.block_in = in > 16 ? 8 : 16, c.block_out = out, c.batch = 3, c.dilation = 2, c.padding = 2;
      EXPECT_GT(compare(c), 0);
    }
}

TEST(Int8Conv, TheStemReadsPlainImages) {
  Case c;
  c.block_in = 1, c.kernel = 7, c.stride = 2, c.padding = 3, c.h = c.w = 30;
  for (int64_t in : {1, 3, 4, 5}) {
    c.in = in;
    EXPECT_GT(compare(c), 0);
  }
}

TEST(Int8Conv, Depthwise) {
  for (int64_t channels : {8, 16, 24, 64})
    for (int64_t kernel : {1, 3, 5})
      for (int64_t stride : {1, 2}) {
        Case c;
        c.depthwise = true, c.in = c.out = channels, c.kernel = kernel, c.stride = stride, c.padding = kernel / 2;
        EXPECT_GT(compare(c), 0);
        c.x = DType::I8, c.y = DType::U8;
        EXPECT_GT(compare(c), 0);
      }
}

TEST(Int8Conv, DTypesAndWhatFollows) {
  for (DType x : {DType::U8, DType::I8})
    for (DType y : {DType::F32, DType::U8, DType::I8})
      for (DType residual : {DType::Bool, DType::F32, DType::U8, DType::I8})
        for (const char* activation : {"none", "relu", "clamp"}) {
          Case c;
          c.x = x, c.y = y, c.residual = residual, c.activation = activation;
          c.zero = residual != DType::U8, c.offset = residual != DType::F32;
          EXPECT_GT(compare(c), 0);
        }
}

TEST(Int8Conv, FloatsBesideBytes) {
  for (DType y : {DType::U8, DType::I8})
    for (DType residual : {DType::Bool, DType::F32, DType::U8})
      for (const char* activation : {"none", "relu", "clamp"})
        for (int64_t block : {8, 16}) {
          Case c;
          c.both = true, c.y = y, c.residual = residual, c.activation = activation;
          c.in = c.out = 32, c.block_in = c.block_out = block;
          EXPECT_GT(compare(c), 0);
        }
}

TEST(Int8Conv, SeveralThreadsAndBands) {
  Case c;
  c.in = 256, c.out = 8, c.h = 40, c.w = 33;  // more rows than a band holds
  for (int threads : {1, 2, 3}) {
    const TeamScope scope(threads, {});
    EXPECT_GT(compare(c), 0);
  }
}

TEST(Int8Conv, TheLargestSumsAreExact) {  // 255 * -128 in every product: 16 bits would saturate
  Case c;
  c.in = 256, c.zero = false, c.offset = false;
  testing::Comparison made = comparison(c);
  std::memset(made.fixed[0].second.data, 255, static_cast<size_t>(made.inputs[0].numel()));
  std::memset(made.fixed[1].second.data, 0x80, static_cast<size_t>(made.inputs[1].numel()));
  EXPECT_GT(compare_kernels(std::move(made), 0), 0);
}

/// Values as behind a relu: most are small, of pairs that sum up to more than 255 there are a few.
Buffer rare_large_bytes(int64_t count) {
  Buffer b = bytes_of(count, 5);
  for (int64_t i = 0; i < count; ++i) {
    const auto v = static_cast<uint8_t>(b.data[i]);
    b.data[i] = static_cast<char>(i % 97 < 2 ? 255 - v % 3 : v % 128);
  }
  return b;
}

TEST(Int8Conv, BytesOfWhichFewAreLarge) {
  for (int64_t in : {8, 40, 64})
    for (int64_t out : {8, 16, 24})
      for (int64_t kernel : {1, 3})
        for (int64_t stride : {1, 2}) {
          Case c;
          c.batch = 2, c.in = in, c.out = out, c.h = 11, c.w = 13, c.kernel = kernel, c.stride = stride;
          c.padding = kernel / 2, c.dilation = out == 24 ? 2 : 1, c.zero = in == 40;
          const auto make = [&] {
            testing::Comparison made = comparison(c);
            Buffer x = rare_large_bytes(made.inputs[0].numel());
            std::swap(made.fixed[0].second.data, x.data);
            // The smallest weights: 16 bits would not hold their products.
            std::memset(made.fixed[1].second.data, 0x80, 64);
            Buffer zero(64);
            zero.data[0] = 9;
            if (c.zero) made.fixed.emplace_back(3, std::move(zero));
            return made;
          };
          EXPECT_GT(compare_kernels(make(), 0), 0);
          compare_avx2(make);
        }
}

TEST(Int8Conv, BytesInSeveralBandsAndThreads) {
  for (int threads : {1, 2}) {
    const TeamScope scope(threads, {});
    Case c;
    c.in = 256, c.out = 24, c.h = 40, c.w = 33, c.kernel = 1, c.padding = 0, c.zero = false, c.y = DType::U8;
    const auto make = [&] {
      testing::Comparison made = comparison(c);
      Buffer x = rare_large_bytes(made.inputs[0].numel());
      std::swap(made.fixed[0].second.data, x.data);
      return made;
    };
    EXPECT_GT(compare_kernels(make(), 0), 0);
    compare_avx2(make);
  }
}

/// The kernel by given routines against the reference.
void compare_routines(testing::Comparison made, const Int8ConvRoutines* first, const Int8ConvRoutines& all) {
  std::vector<Buffer> in;
  for (size_t i = 0; i < made.inputs.size(); ++i)
    in.push_back(testing::random_buffer(made.inputs[i], static_cast<unsigned>(i) + 7));
  for (auto& [index, buffer] : made.fixed) std::swap(in[static_cast<size_t>(index)].data, buffer.data);
  const KernelRequest request{made.op, made.inputs, made.outputs, made.attrs, made.outputs[0].dtype};
  std::string why;
  Int8Conv conv;
  ASSERT_TRUE(read_int8_conv(request, conv, why));
  const auto bytes = static_cast<size_t>(made.outputs[0].numel() * dtype_size(made.outputs[0].dtype));
  std::vector<Buffer> want, have;
  want.emplace_back(bytes), have.emplace_back(bytes);
  testing::run_kernel(*kernel_candidates(made.op, DeviceType::CPU).back().prepare(request, why), made, in, want);
  testing::run_kernel(*int8_conv_kernel(conv, first, all), made, in, have);
  EXPECT_EQ(std::memcmp(want[0].data, have[0].data, bytes), 0) << testing::describe(made);
}

/// At the level where a form of VNNI is asked for; false where the processor lacks it.
class VnniLevel {
 public:
  explicit VnniLevel(Vnni form) : found_(isa()) {
    if (form == Vnni::AVX2) set_isa(Isa::AVX2);
    has_ = has_int8_conv_vnni(form);
  }
  ~VnniLevel() { set_isa(found_); }
  VnniLevel(const VnniLevel&) = delete;
  explicit operator bool() const { return has_; }

 private:
  Isa found_;
  bool has_;
};

class Int8ConvVnni : public ::testing::TestWithParam<Vnni> {};

TEST_P(Int8ConvVnni, IsExact) {
  const VnniLevel level(GetParam());
  if (!level) GTEST_SKIP() << "this processor has no such VNNI";
  const auto compare_vnni = [](const Case& c) { compare_routines(comparison(c), nullptr, int8_conv_vnni(GetParam())); };
  for (DType x : {DType::U8, DType::I8})
    for (int64_t out : {8, 16, 24, 40, 64, 72})
      for (int64_t kernel : {1, 3})
        for (int64_t stride : {1, 2}) {
          Case c;
          c.x = x, c.out = out, c.in = out == 64 ? 32 : 24, c.kernel = kernel, c.padding = kernel / 2,
          c.stride = stride;
          c.block_in = c.block_out = out == 64 ? 16 : 8;
          compare_vnni(c);
          c.y = DType::U8, c.residual = DType::F32, c.activation = "relu", c.batch = 2;
          compare_vnni(c);
        }
  for (int64_t h = 1; h < 16; ++h) {  // every number of points
    Case c;
    c.h = h, c.w = 1, c.kernel = 1, c.padding = 0, c.out = 48;
    compare_vnni(c);
  }
  for (int64_t in : {1, 3, 4, 5}) {
    Case stem;
    stem.block_in = 1, stem.in = in, stem.kernel = 7, stem.stride = 2, stem.padding = 3, stem.y = DType::U8;
    compare_vnni(stem);
    stem.kernel = 1, stem.padding = 2, stem.stride = 3;
    compare_vnni(stem);
  }
  Case largest;
  largest.in = 256, largest.zero = false, largest.offset = false;
  testing::Comparison made = comparison(largest);
  std::memset(made.fixed[0].second.data, 255, static_cast<size_t>(made.inputs[0].numel()));
  std::memset(made.fixed[1].second.data, 0x80, static_cast<size_t>(made.inputs[1].numel()));
  compare_routines(std::move(made), nullptr, int8_conv_vnni(GetParam()));
}
INSTANTIATE_TEST_SUITE_P(Forms, Int8ConvVnni, ::testing::Values(Vnni::AVX512, Vnni::AVX2, Vnni::Emulated),
                         [](const auto& form) {
                           return form.param == Vnni::AVX512 ? "AVX512"
                                  : form.param == Vnni::AVX2 ? "AVX2"
                                                             : "Emulated";
                         });

}  // namespace
}  // namespace hw
