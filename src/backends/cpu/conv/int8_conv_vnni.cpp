// Convolutions of bytes by AVX-512 VNNI: an instruction sums four products of unsigned by signed bytes in 32 bits. Signed bytes count from
// 128, and what the zero point adds is taken off by the caller.
#include <algorithm>
#include <cstring>

#include "backends/cpu/conv/int8_conv.h"
#include "kernels/isa.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace hw {

namespace {

constexpr int kVnniPoints = 12;

bool write(const Int8Band& b, const void* image, int64_t first, int64_t rows, int32_t zero, void* to,
           Int8Rests& /*rests*/) {
  const ConvGeometry& g = b.conv.geometry();
  const auto* x = static_cast<const uint8_t*>(image);
  auto* out = static_cast<uint8_t*>(to);
  const uint8_t sign = b.conv.is_signed ? 0x80 : 0;
  const auto padding = static_cast<uint8_t>(zero + sign);
  const int64_t block = b.conv.images.block_in, plane = g.in_size(), top = first * g.stride[1] - g.padding[1];
  for (int64_t r = 0, in_rows = b.in_rows(rows); r < in_rows; ++r) {
    const int64_t row = top + r * b.row_step;
    for (int64_t j = 0; j < b.columns; ++j, out += b.channels) {
      const int64_t column = j * b.column_step - g.padding[2];
      if (row < 0 || row >= g.in[1] || column < 0 || column >= g.in[2]) {
        std::memset(out, padding, static_cast<size_t>(b.channels));
        continue;
      }
      for (int64_t c = 0; c < g.in_channels; c += block) {
        const uint8_t* from = x + (c / block * plane + row * g.in[2] + column) * block;
        for (int64_t i = 0; i < block; ++i) out[c + i] = from[i] ^ sign;
      }
      for (int64_t c = g.in_channels; c < b.channels; ++c) out[c] = 0;
    }
  }
  return true;
}

void sum_up_emulated(const Int8Sums& s) {
  for (int64_t t = 0; t < s.points; ++t)
    for (int64_t o = 0; o < kInt8MostColumns; ++o) {
      const int8_t* w = s.w[o / kInt8Chunk] + o % kInt8Chunk * kInt8Quad;
      int32_t sum = 0;
      for (int64_t k = 0; k < s.num_taps; ++k)
        for (int64_t q = 0; q < s.quads; ++q, w += kInt8Chunk * kInt8Quad) {
          const uint8_t* x = static_cast<const uint8_t*>(s.x[t]) + s.taps[k] + q * kInt8Quad;
          for (int64_t c = 0; c < kInt8Quad; ++c) sum += x[c] * w[c];
        }
      s.sums[t * kInt8MostColumns + o] = sum;
    }
}

#if defined(__x86_64__)
#define HW_VNNI \
  __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni")))  // NOLINT(cppcoreguidelines-macro-usage)

template <int T>
HW_VNNI void sum_points(const Int8Sums& s) {
  __m512i sum[T];
#pragma GCC unroll 16
  for (int t = 0; t < T; ++t) sum[t] = _mm512_setzero_si512();
  const int8_t *w0 = s.w[0], *w1 = s.w[1];
  for (int64_t k = 0; k < s.num_taps; ++k)
    for (int64_t at = s.taps[k], end = at + s.quads * kInt8Quad; at < end; at += kInt8Quad) {
      const __m512i w =
          _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(w0))),
                             _mm256_loadu_si256(reinterpret_cast<const __m256i*>(w1)), 1);
#pragma GCC unroll 16
      for (int t = 0; t < T; ++t) {
        int32_t quad;
        std::memcpy(&quad, static_cast<const uint8_t*>(s.x[t]) + at, sizeof quad);
        sum[t] = _mm512_dpbusd_epi32(sum[t], _mm512_set1_epi32(quad), w);
      }
      w0 += kInt8Chunk * kInt8Quad, w1 += kInt8Chunk * kInt8Quad;
    }
#pragma GCC unroll 16
  for (int t = 0; t < T; ++t) _mm512_storeu_si512(s.sums + t * kInt8MostColumns, sum[t]);
}

void sum_up(const Int8Sums& s) {
  switch (s.points) {
    case 1: return sum_points<1>(s);
    case 2: return sum_points<2>(s);
    case 3: return sum_points<3>(s);
    case 4: return sum_points<4>(s);
    case 5: return sum_points<5>(s);
    case 6: return sum_points<6>(s);
    case 7: return sum_points<7>(s);
    case 8: return sum_points<8>(s);
    case 9: return sum_points<9>(s);
    case 10: return sum_points<10>(s);
    case 11: return sum_points<11>(s);
    default: return sum_points<kVnniPoints>(s);
  }
}
#else
void sum_up(const Int8Sums& s) { sum_up_emulated(s); }
#endif

}  // namespace

bool has_int8_conv_vnni() { return isa() == Isa::AVX512 && has_avx512_vnni(); }

Int8ConvRoutines int8_conv_vnni(bool emulated) {
  return {write, emulated ? sum_up_emulated : sum_up, kVnniPoints, kInt8MostColumns, 1, true};
}

}  // namespace hw
