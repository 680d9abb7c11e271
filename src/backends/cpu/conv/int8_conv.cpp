// Convolutions of bytes for each instruction set. Pairs of products of 16-bit numbers are summed in 32 bits, which is exact: products of
// bytes in 16 bits (vpmaddubsw) would saturate.
#include "kernels/simd/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/conv/int8_conv.cpp"
#include "backends/cpu/gemm/targets.h"
// After targets.h.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "backends/cpu/conv/int8_conv.h"

HWY_BEFORE_NAMESPACE();
namespace hw {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
constexpr int kPoints = 2, kDepthPoints = 4;

void sum_up(const Int8Sums& s) {
  std::fill_n(s.sums, s.points * kInt8Chunk, 0);
  for (int64_t t = 0; t < s.points; ++t) {
    const int8_t* w = s.w;
    for (int64_t k = 0; k < s.num_taps; ++k)
      for (int64_t q = 0; q < s.quads; ++q, w += kInt8Chunk * kInt8Quad) {
        const int16_t* x = static_cast<const int16_t*>(s.x[t]) + s.taps[k] + q * kInt8Quad;
        for (int64_t o = 0; o < kInt8Chunk; ++o)
          for (int64_t c = 0; c < kInt8Quad; ++c) s.sums[t * kInt8Chunk + o] += x[c] * w[o * kInt8Quad + c];
      }
  }
}

void depthwise(const Int8Sums& s) {
  std::fill_n(s.sums, s.points * kInt8DepthChunk, 0);
  for (int64_t t = 0; t < s.points; ++t)
    for (int64_t k = 0; k < s.num_taps; ++k)
      for (int64_t c = 0; c < kInt8DepthChunk; ++c)
        s.sums[t * kInt8DepthChunk + c] +=
            static_cast<const int16_t*>(s.x[t])[s.taps[k] + c] * s.w[k * kInt8DepthChunk + c];
}

template <class T>
void widen_block(const T* x, int64_t count, int32_t zero, int16_t* to) {
  for (int64_t c = 0; c < count; ++c) to[c] = static_cast<int16_t>(x[c] - zero);
}

template <class Out>
int64_t finish_chunk(const Int8Conv& p, const Int8ConvFinish& f, const Int8Tile& tile, int64_t column, int64_t at) {
  const int64_t channel = tile.channel + column;
  for (int64_t i = 0; i < tile.points * kInt8Chunk; ++i) {
    const int64_t t = i / kInt8Chunk, c = i % kInt8Chunk, to = at + t * p.images.block_out + c;
    const int32_t sum = tile.sums[t * tile.columns + column + c] - (tile.shift ? tile.shift[column + c] : 0);
    float v = static_cast<float>(sum) * f.number.scale[channel + c];
    if (f.number.offset) v = v + f.number.offset[channel + c];
    if (f.residual && p.residual == DType::F32) v = v + static_cast<const float*>(f.residual)[to];
    if (f.residual && p.residual != DType::F32) {
      const int32_t q = p.residual == DType::I8 ? static_cast<const int8_t*>(f.residual)[to]
                                                : static_cast<const uint8_t*>(f.residual)[to];
      v = v + static_cast<float>(q - f.residual_zero) * f.residual_scale;
    }
    if (p.has_range) v = std::min(std::max(v, p.low), p.high);
    if (f.floats) f.floats[to] = v;
    if constexpr (!std::is_same_v<Out, float>) {
      const Int8Finish& n = f.number;
      v = std::min(n.high, std::max(n.low, std::nearbyint(v / n.out_scale) + n.zero));
    }
    static_cast<Out*>(f.y)[to] = static_cast<Out>(v);
  }
  return kInt8Chunk;
}
#else
using Wide = hn::ScalableTag<int32_t>;
using Half16 = hn::ScalableTag<int16_t>;
constexpr int kLanes = static_cast<int>(HWY_LANES(int32_t));
constexpr int kVectors = 16 / kLanes;  // of eight channels, two sums each
#if HWY_TARGET == HWY_AVX3
constexpr int kPoints = 12;
#elif HWY_TARGET == HWY_AVX2
constexpr int kPoints = 6;  // sums, two rows of the weight, one of x and of products: 16 registers
#elif HWY_TARGET == HWY_NEON
constexpr int kPoints = 3;  // even and odd sums apart
#else
constexpr int kPoints = 2;
#endif

/// Holds a sum in its register: the compiler would put off additions, and run out of registers.
template <class V>
HWY_INLINE V kept(V v) {
#if HWY_TARGET == HWY_AVX2
  asm("" : "+x"(v.raw));
#endif
  return v;
}

template <int T>
HWY_NOINLINE void sum_points(const Int8Sums& s) {
  const Wide wide;
  const Half16 d16;
  const hn::ScalableTag<int64_t> d64;
  const hn::Rebind<int8_t, Half16> d8;
  hn::VFromD<Wide> even[T][kVectors], odd[T][kVectors];  // `odd` stays zero where pairs are summed by one instruction
#pragma GCC unroll 16
  for (int t = 0; t < T; ++t)
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) even[t][v] = odd[t][v] = hn::Zero(wide);
  const int16_t* x[T];
#pragma GCC unroll 16
  for (int t = 0; t < T; ++t) x[t] = static_cast<const int16_t*>(s.x[t]);
  const int8_t* HWY_RESTRICT w = s.w;
  for (int64_t k = 0; k < s.num_taps; ++k)
    for (int64_t at = s.taps[k], end = at + s.quads * kInt8Quad; at < end; at += kInt8Quad) {
      hn::VFromD<Half16> row[kVectors];
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) row[v] = hn::PromoteTo(d16, hn::LoadU(d8, w + v * 2 * kLanes));
#pragma GCC unroll 16
      for (int t = 0; t < T; ++t) {
        int64_t quad;
        std::memcpy(&quad, x[t] + at, sizeof quad);
        const auto left = hn::BitCast(d16, hn::Set(d64, quad));
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v)
          even[t][v] = kept(hn::ReorderWidenMulAccumulate(wide, left, row[v], even[t][v], odd[t][v]));
      }
      w += kInt8Chunk * kInt8Quad;
    }
    // Both sums of a channel stand side by side. A store may reach into the next point's place, which comes later.
#pragma GCC unroll 16
  for (int t = 0; t < T; ++t) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; v += 2) {
      const auto low = hn::RearrangeToOddPlusEven(even[t][v], odd[t][v]);
      const int next = kVectors == 1 ? 0 : v + 1;
      const auto high = kVectors == 1 ? low : hn::RearrangeToOddPlusEven(even[t][next], odd[t][next]);
      hn::StoreU(hn::Add(hn::ConcatEven(wide, high, low), hn::ConcatOdd(wide, high, low)), wide,
                 s.sums + t * kInt8Chunk + v / 2 * kLanes);
    }
  }
}

void sum_up(const Int8Sums& s) {
  switch (s.points) {
    case 1: return sum_points<1>(s);
    case 2: return sum_points<2>(s);
    case 3: return sum_points<(kPoints < 3 ? 1 : 3)>(s);
    case 4: return sum_points<(kPoints < 4 ? 1 : 4)>(s);
    case 5: return sum_points<(kPoints < 5 ? 1 : 5)>(s);
    case 6: return sum_points<(kPoints < 6 ? 1 : 6)>(s);
    case 7: return sum_points<(kPoints < 7 ? 1 : 7)>(s);
    case 8: return sum_points<(kPoints < 8 ? 1 : 8)>(s);
    case 9: return sum_points<(kPoints < 9 ? 1 : 9)>(s);
    case 10: return sum_points<(kPoints < 10 ? 1 : 10)>(s);
    case 11: return sum_points<(kPoints < 11 ? 1 : 11)>(s);
    default: return sum_points<kPoints>(s);
  }
}

/// Channel by channel: two kernel points make the pairs.
using DepthHalf = hn::CappedTag<int16_t, 16>;
constexpr int kDepthLanes = static_cast<int>(HWY_MIN(HWY_LANES(int16_t), 16)), kDepthPoints = 6;

template <int T>
HWY_NOINLINE void depthwise_points(const Int8Sums& s) {
  const DepthHalf d16;
  const hn::Repartition<int32_t, DepthHalf> d32;
  const hn::Rebind<int8_t, DepthHalf> d8;
  for (int64_t c = 0; c < kInt8DepthChunk; c += kDepthLanes) {
    const int16_t* x[T];
    hn::VFromD<decltype(d32)> even[T][2], odd[T][2];
#pragma GCC unroll 8
    for (int t = 0; t < T; ++t) {
      x[t] = static_cast<const int16_t*>(s.x[t]) + c;
      even[t][0] = even[t][1] = odd[t][0] = odd[t][1] = hn::Zero(d32);
    }
    const int8_t* w = s.w + c;
    for (int64_t k = 0; k < s.num_taps; k += 2, w += 2 * kInt8DepthChunk) {
      const bool pair = k + 1 < s.num_taps;
      const int64_t at = s.taps[k], next = s.taps[pair ? k + 1 : k];
      const auto wa = hn::PromoteTo(d16, hn::LoadU(d8, w));
      const auto wb = pair ? hn::PromoteTo(d16, hn::LoadU(d8, w + kInt8DepthChunk)) : hn::Zero(d16);
      const auto low = hn::InterleaveLower(d16, wa, wb), high = hn::InterleaveUpper(d16, wa, wb);
#pragma GCC unroll 8
      for (int t = 0; t < T; ++t) {
        const auto a = hn::LoadU(d16, x[t] + at), b = hn::LoadU(d16, x[t] + next);
        even[t][0] = hn::ReorderWidenMulAccumulate(d32, hn::InterleaveLower(d16, a, b), low, even[t][0], odd[t][0]);
        even[t][1] = hn::ReorderWidenMulAccumulate(d32, hn::InterleaveUpper(d16, a, b), high, even[t][1], odd[t][1]);
      }
    }
#pragma GCC unroll 8
    for (int t = 0; t < T; ++t) {
      const auto low = hn::RearrangeToOddPlusEven(even[t][0], odd[t][0]);
      const auto high = hn::RearrangeToOddPlusEven(even[t][1], odd[t][1]);
      int32_t* to = s.sums + t * kInt8DepthChunk + c;
      // Vectors of 16 bytes were interleaved each for itself.
      const bool halves = kDepthLanes > 8;
      hn::StoreU(halves ? hn::ConcatLowerLower(d32, high, low) : low, d32, to);
      hn::StoreU(halves ? hn::ConcatUpperUpper(d32, high, low) : high, d32, to + kDepthLanes / 2);
    }
  }
}

void depthwise(const Int8Sums& s) {
  switch (s.points) {
    case 1: return depthwise_points<1>(s);
    case 2: return depthwise_points<2>(s);
    case 3: return depthwise_points<3>(s);
    case 4: return depthwise_points<4>(s);
    case 5: return depthwise_points<5>(s);
    default: return depthwise_points<kDepthPoints>(s);
  }
}

/// `count` is 8 or 16.
template <class T>
HWY_INLINE void widen_block(const T* x, int64_t count, int32_t zero, int16_t* to) {
  const hn::FixedTag<int16_t, 8> d16;
  const hn::FixedTag<T, 8> d8;
  const auto off = hn::Set(d16, static_cast<int16_t>(zero));
  for (int64_t c = 0; c < count; c += 8)
    hn::StoreU(hn::Sub(hn::PromoteTo(d16, hn::LoadU(d8, x + c)), off), d16, to + c);
}

using Eight = hn::CappedTag<float, 8>;
using Sixteen = hn::CappedTag<float, 16>;

/// Results are limited once, after the division: it keeps order, so that limits of relu and clamp are divided too. And before they are
/// rounded: the same integer, since a byte's bounds are integers.
struct Steps {
  float low, high;
};
Steps steps_of(const Int8Conv& p, const Int8Finish& n) {
  Steps s{n.low - n.zero, n.high - n.zero};
  if (!p.has_range) return s;
  const float low = p.low / n.out_scale, high = p.high / n.out_scale;
  return {std::min(s.high, std::max(s.low, low)), std::max(s.low, std::min(s.high, high))};
}

/// Divides, limits, rounds. A float of 2^23 and more has no fraction, so that the sum rounds to even, and its low bits are the integer.
template <class D, class T>
class Quantizer {
 public:
  Quantizer(const Int8Conv& p, const Int8Finish& n) {
    const Steps s = steps_of(p, n);
    scale_ = hn::Set(D(), n.out_scale), low_ = hn::Set(D(), s.low), high_ = hn::Set(D(), s.high);
    zero_ = hn::Set(Wide(), kBits - static_cast<int32_t>(n.zero));
  }
  HWY_INLINE void store(hn::VFromD<D> v, T* y) const {
    const D d;
    const auto steps = hn::Min(hn::Max(hn::Div(v, scale_), low_), high_);
    const auto whole = hn::Sub(hn::BitCast(Wide(), hn::Add(steps, hn::Set(d, kWhole))), zero_);
    const hn::Rebind<T, D> bytes;
    hn::StoreU(hn::DemoteTo(bytes, whole), bytes, y);
  }

 private:
  using Wide = hn::RebindToSigned<D>;
  static constexpr float kWhole = 12582912.0f;  // 1.5 * 2^23
  static constexpr int32_t kBits = 0x4b400000;
  hn::VFromD<D> scale_, low_, high_;
  hn::VFromD<Wide> zero_;
};

/// What is added to results: nothing where R is void.
template <class D, class R>
class Residual {
 public:
  Residual(const Int8ConvFinish& f, int64_t at) : data_(static_cast<const R*>(f.residual) + at) {
    scale_ = hn::Set(D(), f.residual_scale), zero_ = hn::Set(hn::RebindToSigned<D>(), f.residual_zero);
  }
  HWY_INLINE hn::VFromD<D> added(hn::VFromD<D> v, int64_t at) const {
    const D d;
    if constexpr (std::is_same_v<R, float>) {
      return hn::Add(v, hn::LoadU(d, data_ + at));
    } else {
      const hn::Rebind<R, D> narrow;
      const auto q = hn::Sub(hn::PromoteTo(hn::RebindToSigned<D>(), hn::LoadU(narrow, data_ + at)), zero_);
      return hn::Add(v, hn::Mul(hn::ConvertTo(d, q), scale_));
    }
  }

 private:
  const R* data_;
  hn::VFromD<D> scale_;
  hn::VFromD<hn::RebindToSigned<D> > zero_;
};
template <class D>
class Residual<D, void> {
 public:
  Residual(const Int8ConvFinish&, int64_t) {}
  HWY_INLINE hn::VFromD<D> added(hn::VFromD<D> v, int64_t) const { return v; }
};
template <class D>
class Quantizer<D, float> {
 public:
  Quantizer(const Int8Conv&, const Int8Finish&) {}
  HWY_INLINE void store(hn::VFromD<D> v, float* y) const { hn::StoreU(v, D(), y); }
};

/// Some points of as many channels as D has lanes, or of a chunk. R: of the residual, void where there is none. Floats: they are kept
/// beside bytes. What stays the same is held in registers: a store of bytes could be to anything, for all that the compiler knows.
template <class D, class R, class Out, bool Floats>
void finish_points(const Int8Conv& p, const Int8ConvFinish& f, const Int8Tile& tile, int64_t column, int64_t to) {
  const D d;
  const hn::RebindToSigned<D> wide;
  constexpr auto kLanesOf = static_cast<int64_t>(hn::MaxLanes(D()));
  constexpr bool kLimited = Floats || std::is_same_v<Out, float>;
  const int64_t block = p.images.block_out, step = tile.columns, end = tile.points * block;
  const auto low = hn::Set(d, p.has_range ? p.low : -INFINITY), high = hn::Set(d, p.has_range ? p.high : INFINITY);
  const Quantizer<D, Out> quantizer(p, f.number);
  const bool has_offset = f.number.offset != nullptr;
  for (int64_t c = 0; c < std::max(kInt8Chunk, kLanesOf); c += kLanesOf) {
    const int64_t channel = tile.channel + column + c;
    const Residual<D, R> residual(f, to + c);
    const auto scale = hn::LoadU(d, f.number.scale + channel);
    const auto offset = has_offset ? hn::LoadU(d, f.number.offset + channel) : hn::Zero(d);
    const auto shift = tile.shift ? hn::LoadU(wide, tile.shift + column + c) : hn::Zero(wide);
    const int32_t* HWY_RESTRICT sums = tile.sums + column + c;
    float* floats = Floats ? f.floats + to + c : nullptr;
    Out* y = static_cast<Out*>(f.y) + to + c;
    for (int64_t at = 0; at < end; at += block, sums += step) {
      auto v = hn::Mul(hn::ConvertTo(d, hn::Sub(hn::LoadU(wide, sums), shift)), scale);
      if (has_offset) v = hn::Add(v, offset);
      v = residual.added(v, at);
      if constexpr (kLimited) v = hn::Min(hn::Max(v, low), high);
      if constexpr (Floats) hn::StoreU(v, d, floats + at);
      quantizer.store(v, y + at);
    }
  }
}

template <class D, class R, class Out>
void finish_with(const Int8Conv& p, const Int8ConvFinish& f, const Int8Tile& tile, int64_t column, int64_t to) {
  if constexpr (!std::is_same_v<Out, float>)
    if (f.floats) return finish_points<D, R, Out, true>(p, f, tile, column, to);
  finish_points<D, R, Out, false>(p, f, tile, column, to);
}

template <class D, class Out>
void finish_columns(const Int8Conv& p, const Int8ConvFinish& f, const Int8Tile& tile, int64_t column, int64_t to) {
  const auto run = !f.residual                ? finish_with<D, void, Out>
                   : p.residual == DType::F32 ? finish_with<D, float, Out>
                   : p.residual == DType::I8  ? finish_with<D, int8_t, Out>
                                              : finish_with<D, uint8_t, Out>;
  run(p, f, tile, column, to);
}

/// One chunk, or two where they lie in one block and one vector.
template <class Out>
int64_t finish_chunk(const Int8Conv& p, const Int8ConvFinish& f, const Int8Tile& tile, int64_t column, int64_t to) {
#if HWY_TARGET == HWY_AVX3
  if (p.images.block_out == 16 && column + 16 <= tile.columns && (tile.channel + column) % 16 == 0) {
    finish_columns<Sixteen, Out>(p, f, tile, column, to);
    return 16;
  }
#endif
  finish_columns<Eight, Out>(p, f, tile, column, to);
  return kInt8Chunk;
}
#endif

void finish(const Int8Conv& p, const Int8ConvFinish& f, const Int8Tile& tile) {
  const int64_t block = p.images.block_out, plane = p.geometry().out_size();
  const auto run = p.out == DType::F32  ? finish_chunk<float>
                   : p.out == DType::I8 ? finish_chunk<int8_t>
                                        : finish_chunk<uint8_t>;
  for (int64_t c = 0; c < tile.columns && tile.channel + c < p.geometry().out_channels;) {
    const int64_t o = tile.channel + c;
    c += run(p, f, tile, c, tile.base + (o / block * plane + tile.at) * block + o % block);
  }
}

/// A row of a plain image.
template <class T>
void widen_plain_row(const Int8Band& b, const T* image, int64_t row, int32_t zero, int16_t* to) {
  const ConvGeometry& g = b.conv.geometry();
  const int64_t plane = g.in_size();
  for (int64_t j = 0; j < b.columns; ++j, to += b.channels) {
    const int64_t column = j * b.column_step - g.padding[2];
    std::fill_n(to, b.channels, int16_t{0});
    if (column < 0 || column >= g.in[2]) continue;
    for (int64_t c = 0; c < g.in_channels; ++c)
      to[c] = static_cast<int16_t>(image[c * plane + row * g.in[2] + column] - zero);
  }
}

/// A row of up to kTogether blocks, whose values make a line of the cache.
template <class T>
void widen_row(const Int8Band& b, const T* image, int64_t row, int64_t first, int64_t last, int32_t zero, int16_t* to) {
  const ConvGeometry& g = b.conv.geometry();
  const int64_t block = b.conv.images.block_in, plane = g.in_size() * block;
  for (int64_t j = 0; j < b.columns; ++j, to += b.channels) {
    const int64_t column = j * b.column_step - g.padding[2];
    if (column < 0 || column >= g.in[2]) {
      std::fill(to + first * block, to + last * block, int16_t{0});
      continue;
    }
    const T* from = image + (row * g.in[2] + column) * block;
    for (int64_t c = first; c < last; ++c) widen_block(from + c * plane, block, zero, to + c * block);
  }
}

template <class T>
void widen_rows(const Int8Band& b, const T* image, int64_t first, int64_t rows, int32_t zero, int16_t* band) {
  constexpr int64_t kTogether = 4;
  const ConvGeometry& g = b.conv.geometry();
  const int64_t block = b.conv.images.block_in, blocks = block == 1 ? 1 : g.in_channels / block;
  const int64_t top = first * g.stride[1] - g.padding[1], in_rows = b.in_rows(rows);
  for (int64_t c = 0; c < blocks; c += kTogether)
    for (int64_t r = 0; r < in_rows; ++r) {
      const int64_t row = top + r * b.row_step;
      int16_t* to = band + r * b.row_values();
      if (row < 0 || row >= g.in[1]) {
        if (c == 0) std::fill_n(to, b.row_values(), int16_t{0});
      } else if (block == 1) {
        widen_plain_row(b, image, row, zero, to);
      } else {
        widen_row(b, image, row, c, std::min(blocks, c + kTogether), zero, to);
      }
    }
  // Channels up to a whole quad.
  if (block != 1 && b.channels != g.in_channels)
    for (int64_t p = 0; p < in_rows * b.columns; ++p)
      std::fill(band + p * b.channels + g.in_channels, band + (p + 1) * b.channels, int16_t{0});
}

bool widen(const Int8Band& b, const void* image, int64_t first, int64_t rows, int32_t zero, void* to,
           Int8Rests& /*rests*/) {
  if (b.conv.is_signed)
    widen_rows(b, static_cast<const int8_t*>(image), first, rows, zero, static_cast<int16_t*>(to));
  else
    widen_rows(b, static_cast<const uint8_t*>(image), first, rows, zero, static_cast<int16_t*>(to));
  return true;
}

}  // namespace

Int8ConvRoutines int8_conv_target_routines() { return {widen, sum_up, kPoints, kInt8Chunk, 2, false, false}; }
Int8ConvFinisher int8_conv_target_finisher() { return {finish, depthwise, kDepthPoints}; }

}  // namespace HWY_NAMESPACE
}  // namespace hw
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hw {
Int8ConvRoutines int8_conv_routines() { return HW_BEST_TARGET(int8_conv_target_routines)(); }
Int8ConvFinisher int8_conv_finisher() { return HW_BEST_TARGET(int8_conv_target_finisher)(); }
}  // namespace hw
#endif
