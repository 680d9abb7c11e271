// Uniform and normal numbers and dropout in float32, once per instruction set.
#include "backends/cpu/random/numbers.h"

#include "core/half.h"
#include "kernels/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/random/numbers.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h

#include "backends/cpu/random/philox-inl.h"
#include "kernels/simd/math.h"

HWY_BEFORE_NAMESPACE();
namespace hw {
namespace HWY_NAMESPACE {

struct Words {
  alignas(64) uint32_t word[kRandomChunk];
  HWY_INLINE Words(Draw draw, int64_t begin, int64_t end) {
    fill_words(draw.seed, draw.number, static_cast<uint64_t>(draw.first + begin) >> 2, (end - begin + 3) / 4, word);
  }
};

static void uniform(Draw draw, int64_t begin, int64_t end, float low, float width, float* out) {
  const Words w(draw, begin, end);
  const int64_t n = end - begin;
  for (int64_t i = 0; i < n; ++i)
    out[i] = low + width * (static_cast<float>(static_cast<int32_t>(w.word[i] >> 8)) * 0x1p-24f);
}

static void normal(Draw draw, int64_t begin, int64_t end, float mean, float std, float* out) {
  const Words w(draw, begin, end);
  const int64_t n = end - begin;
  int64_t i = 0;
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  using P = Pack<float>;
  const hn::ScalableTag<float> d;
  const U32 du;
  const hn::RebindToSigned<U32> di;
  const int64_t step = 2 * P::lanes();
  const P unit(0x1p-24f), turn(2 * std::numbers::pi_v<float>);
  for (; i + step <= n; i += step) {
    hn::Vec<U32> u, v;
    hn::LoadInterleaved2(du, w.word + i, u, v);
    const P a = P(hn::ConvertTo(d, hn::BitCast(di, hn::ShiftRight<8>(u)))) * unit;
    const P b = P(hn::ConvertTo(d, hn::BitCast(di, hn::ShiftRight<8>(v)))) * unit;
    const P radius = P(hn::Sqrt((P(-2.0f) * math::log(P(1.0f) - a)).v)), angle = turn * b;
    const P x = P(mean) + P(std) * (radius * math::cos(angle)), y = P(mean) + P(std) * (radius * math::sin(angle));
    hn::StoreInterleaved2(x.v, y.v, d, out + i);
  }
#endif
  for (; i < n; ++i) {
    const int64_t pair = i & ~int64_t{1};
    const float radius = std::sqrt(-2 * std::log(1 - unit_float(w.word[pair])));
    const float angle = 2 * std::numbers::pi_v<float> * unit_float(w.word[pair + 1]);
    out[i] = mean + std * (radius * (i & 1 ? std::sin(angle) : std::cos(angle)));
  }
}

template <class T>
static void dropout(Draw draw, int64_t begin, int64_t end, uint64_t threshold, float factor, const void* x, void* y,
                    bool* mask) {
  const Words w(draw, begin, end);
  const T* __restrict from = static_cast<const T*>(x);
  T* __restrict to = static_cast<T*>(y);
  uint8_t* __restrict kept = reinterpret_cast<uint8_t*>(mask);
  const int64_t n = end - begin;
  // word >= threshold, written for 32 bits: a threshold of 2^32 keeps nothing.
  const uint32_t least = threshold > 0 ? static_cast<uint32_t>(threshold - 1) : 0;
  const bool all = threshold == 0;
  for (int64_t i = 0; i < n; ++i) kept[i] = all || w.word[i] > least;
  for (int64_t i = 0; i < n; ++i) {
    const float value = static_cast<float>(from[i]) * factor;
    to[i] = kept[i] ? T(value) : T(0.0f);
  }
}

static void dropout_f32(Draw draw, int64_t begin, int64_t end, uint64_t threshold, float factor, const void* x, void* y,
                        bool* mask) {
  const Words w(draw, begin, end);
  const float* __restrict from = static_cast<const float*>(x);
  float* __restrict to = static_cast<float*>(y);
  const int64_t n = end - begin;
  const uint32_t least = threshold > 0 ? static_cast<uint32_t>(threshold - 1) : 0;
  uint8_t* __restrict kept = reinterpret_cast<uint8_t*>(mask);
  if (threshold == 0) {
    for (int64_t i = 0; i < n; ++i) to[i] = from[i] * factor, kept[i] = 1;
    return;
  }
  for (int64_t i = 0; i < n; ++i) kept[i] = w.word[i] > least;
  for (int64_t i = 0; i < n; ++i) {
    const float value = from[i] * factor;
    to[i] = w.word[i] > least ? value : 0.0f;
  }
}

static void words(Draw draw, uint64_t first, int64_t blocks, uint32_t* out) {
  fill_words(draw.seed, draw.number, first, blocks, out);
}

WordsChunk get_words() { return &words; }
UniformChunk get_uniform() { return &uniform; }
NormalChunk get_normal() { return &normal; }
DropoutChunk get_dropout(int64_t kind) {
  return kind == 0 ? &dropout_f32 : kind == 1 ? &dropout<Half> : &dropout<BFloat16>;
}

}  // namespace HWY_NAMESPACE
}  // namespace hw
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hw {
HWY_EXPORT(get_words);
HWY_EXPORT(get_uniform);
HWY_EXPORT(get_normal);
HWY_EXPORT(get_dropout);
WordsChunk find_words_chunk() { return HWY_DYNAMIC_DISPATCH(get_words)(); }
UniformChunk find_uniform_chunk() { return HWY_DYNAMIC_DISPATCH(get_uniform)(); }
NormalChunk find_normal_chunk() { return HWY_DYNAMIC_DISPATCH(get_normal)(); }
DropoutChunk find_dropout_chunk(int64_t kind) { return HWY_DYNAMIC_DISPATCH(get_dropout)(kind); }
}  // namespace hw
#endif
