// Convolutions of bytes by AVX2: an instruction sums two products of unsigned by signed bytes in 16 bits, which is exact where the two
// unsigned ones sum up to 255 at most. Larger ones are rare behind a relu: they are written smaller, and what is lacking is added.
#include <algorithm>
#include <cstring>

#include "backends/cpu/conv/int8_conv.h"
#include "kernels/isa.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace hw {

#if defined(__x86_64__)
namespace {

#define HW_AVX2 __attribute__((target("avx2")))  // NOLINT(cppcoreguidelines-macro-usage)

constexpr int kPoints = 6;  // sums, one of x, products, ones: 16 registers
constexpr int64_t kColumns = 2 * kInt8Chunk, kSmallZero = 64;

/// Writes bytes of one pixel and notes what they lack.
class Writer {
 public:
  Writer(const Int8Band& band, const uint8_t* image, uint8_t* to, Int8Rests& rests)
      : b_(band),
        g_(band.conv.geometry()),
        block_(band.conv.images.block_in),
        plane_(g_.in_size() * block_),
        image_(image),
        out_(to),
        to_(to),
        rests_(rests) {}

  bool run(int64_t first, int64_t rows, int32_t zero) {
    const int64_t top = first * g_.stride[1] - g_.padding[1];
    for (int64_t r = 0, in_rows = b_.in_rows(rows); r < in_rows; ++r) {
      const int64_t row = top + r * b_.row_step;
      for (int64_t j = 0; j < b_.columns; ++j, out_ += b_.channels) {
        rests_.starts[pixel_++] = static_cast<int32_t>(count_);
        const int64_t column = j * b_.column_step - g_.padding[2];
        if (row < 0 || row >= g_.in[1] || column < 0 || column >= g_.in[2])
          std::memset(out_, zero, static_cast<size_t>(b_.channels));
        else if (!pixel(image_ + (row * g_.in[2] + column) * block_))
          return false;
      }
    }
    rests_.starts[pixel_] = static_cast<int32_t>(count_);
    return true;
  }

 private:
  HW_AVX2 bool pixel(const uint8_t* from) {
    const __m256i ones = _mm256_set1_epi8(1), most = _mm256_set1_epi16(255);
    int64_t c = 0;
    if (block_ == 8)
      for (; c + 32 <= b_.channels; c += 32, from += 4 * plane_) {
        const auto load = [&](int64_t i) {
          return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from + i * plane_));
        };
        const __m256i x = _mm256_set_m128i(_mm_unpacklo_epi64(load(2), load(3)), _mm_unpacklo_epi64(load(0), load(1)));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(out_ + c), x);
        const __m256i large = _mm256_cmpgt_epi16(_mm256_maddubs_epi16(x, ones), most);
        if (!_mm256_testz_si256(large, large) && !lessen(c, 32)) return false;
      }
    for (; c < b_.channels; c += block_, from += plane_) {
      std::memcpy(out_ + c, from, static_cast<size_t>(block_));
      if (!lessen(c, block_)) return false;
    }
    return true;
  }

  /// False where the list is full.
  bool lessen(int64_t c, int64_t count) {
    for (int64_t i = c; i < c + count; i += 4) {
      uint8_t* x = out_ + i;
      if (x[0] + x[1] <= 255 && x[2] + x[3] <= 255) continue;
      if (count_ == rests_.most) return false;
      Int8Rest& rest = rests_.list[count_++];
      rest.at = static_cast<int32_t>(x - to_);
      for (int k = 0; k < 4; ++k) {
        const uint8_t small = std::min<uint8_t>(x[k], 127);
        rest.bytes[k] = static_cast<uint8_t>(x[k] - small);
        x[k] = small;
      }
    }
    return true;
  }

  const Int8Band& b_;
  const ConvGeometry& g_;
  int64_t block_, plane_;
  const uint8_t* image_;
  uint8_t *out_, *to_;
  Int8Rests& rests_;
  int64_t pixel_ = 0, count_ = 0;
};

bool write(const Int8Band& b, const void* image, int64_t first, int64_t rows, int32_t zero, void* to,
           Int8Rests& rests) {
  if (zero > kSmallZero) return false;
  return Writer(b, static_cast<const uint8_t*>(image), static_cast<uint8_t*>(to), rests).run(first, rows, zero);
}

/// Adds in place: the compiler would put off additions, and run out of registers.
HW_AVX2 inline void add_to(__m256i& sum, __m256i v) { asm volatile("vpaddd %1, %0, %0" : "+x"(sum) : "x"(v)); }

template <int T>
HW_AVX2 void sum_points(const Int8Sums& s) {
  const uint8_t* x[T];
  __m256i sum[T][2];
  __m256i ones = _mm256_set1_epi16(1);
  asm("" : "+x"(ones));  // no memory operand
#pragma GCC unroll 8
  for (int t = 0; t < T; ++t) {
    x[t] = static_cast<const uint8_t*>(s.x[t]);
    sum[t][0] = sum[t][1] = _mm256_setzero_si256();
  }
  const int8_t *w0 = s.w, *w1 = s.w + s.w_step;
  for (int64_t k = 0; k < s.num_taps; ++k)
    for (int64_t at = s.taps[k], end = at + s.quads * kInt8Quad; at < end; at += kInt8Quad) {
#pragma GCC unroll 8
      for (int t = 0; t < T; ++t) {
        int32_t quad;
        std::memcpy(&quad, x[t] + at, sizeof quad);
        const __m256i left = _mm256_set1_epi32(quad);
        const auto add = [&](__m256i& to, const int8_t* w) HW_AVX2 {
          const __m256i right = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(w));
          add_to(to, _mm256_madd_epi16(ones, _mm256_maddubs_epi16(left, right)));
        };
        add(sum[t][0], w0);
        add(sum[t][1], w1);
      }
      w0 += kInt8Chunk * kInt8Quad, w1 += kInt8Chunk * kInt8Quad;
    }
#pragma GCC unroll 8
  for (int t = 0; t < T; ++t)
#pragma GCC unroll 2
    for (int v = 0; v < 2; ++v)
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(s.sums + t * kColumns + v * kInt8Chunk), sum[t][v]);
}

void sum_up(const Int8Sums& s) {
  switch (s.points) {
    case 1: return sum_points<1>(s);
    case 2: return sum_points<2>(s);
    case 3: return sum_points<3>(s);
    case 4: return sum_points<4>(s);
    case 5: return sum_points<5>(s);
    default: return sum_points<kPoints>(s);
  }
}

HW_AVX2 void add_rest(const uint8_t* bytes, const int8_t* w, int64_t w_step, int32_t* sums) {
  int32_t quad;
  std::memcpy(&quad, bytes, sizeof quad);
  const __m256i left = _mm256_set1_epi32(quad), ones = _mm256_set1_epi16(1);
  for (int v = 0; v < 2; ++v) {
    auto* to = reinterpret_cast<__m256i*>(sums + v * kInt8Chunk);
    const __m256i right = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(w + v * w_step));
    const __m256i more = _mm256_madd_epi16(ones, _mm256_maddubs_epi16(left, right));
    _mm256_storeu_si256(to, _mm256_add_epi32(_mm256_loadu_si256(to), more));
  }
}

}  // namespace

bool has_int8_conv_avx2_bytes() { return isa() == Isa::AVX2 || (isa() == Isa::AVX512 && !has_avx512_vnni()); }
Int8ConvRoutines int8_conv_avx2_bytes() { return {write, sum_up, kPoints, kColumns, 1, false, true, add_rest}; }
#else
bool has_int8_conv_avx2_bytes() { return false; }
Int8ConvRoutines int8_conv_avx2_bytes() { return int8_conv_routines(); }
#endif

}  // namespace hw
