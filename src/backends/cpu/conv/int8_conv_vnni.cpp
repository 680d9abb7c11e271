// Convolutions of bytes by AVX-512 VNNI and AVX-VNNI: an instruction sums four products of unsigned by signed bytes in 32 bits. Signed bytes count from
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

constexpr int kPoints = 14;    // by two vectors: 28 sums, two rows of the weight, one of x
constexpr int kAhead = 1024;   // bytes of a chunk of weights that are asked for ahead: large ones come from beyond L2
constexpr int kVexPoints = 6;  // 12 sums

/// A pixel's channels from its blocks.
template <int64_t Block>
void copy_blocks(const uint8_t* from, int64_t plane, int64_t channels, uint8_t sign, uint8_t* to) {
  for (int64_t c = 0; c < channels; c += Block, from += plane * Block)
    for (int64_t i = 0; i < Block; ++i) to[c + i] = from[i] ^ sign;
}

/// A row of a plain image; channels up to a whole quad are zero.
void interleave_row(const Int8Band& b, const uint8_t* row, uint8_t sign, uint8_t* to) {
  const ConvGeometry& g = b.conv.geometry();
  const int64_t first = std::max<int64_t>(0, (g.padding[2] + b.column_step - 1) / b.column_step);
  for (int64_t c = 0; c < b.channels; ++c) {
    const uint8_t* from = row + c * g.in_size() - g.padding[2];
    for (int64_t j = first; j < b.columns && j * b.column_step - g.padding[2] < g.in[2]; ++j)
      to[j * b.channels + c] = c < g.in_channels ? from[j * b.column_step] ^ sign : 0;
  }
}

bool write(const Int8Band& b, const void* image, int64_t first, int64_t rows, int32_t zero, void* to,
           Int8Rests& /*rests*/) {
  const ConvGeometry& g = b.conv.geometry();
  const auto* x = static_cast<const uint8_t*>(image);
  auto* out = static_cast<uint8_t*>(to);
  const uint8_t sign = b.conv.is_signed ? 0x80 : 0;
  const auto padding = static_cast<uint8_t>(zero + sign);
  const int64_t block = b.conv.images.block_in, top = first * g.stride[1] - g.padding[1];
  for (int64_t r = 0, in_rows = b.in_rows(rows); r < in_rows; ++r, out += b.row_values()) {
    const int64_t row = top + r * b.row_step;
    const bool inside = row >= 0 && row < g.in[1];
    if (!inside || block == 1) std::memset(out, padding, static_cast<size_t>(b.row_values()));
    if (!inside) continue;
    if (block == 1) {
      interleave_row(b, x + row * g.in[2], sign, out);
      continue;
    }
    for (int64_t j = 0; j < b.columns; ++j) {
      const int64_t column = j * b.column_step - g.padding[2];
      uint8_t* pixel = out + j * b.channels;
      const uint8_t* from = x + (row * g.in[2] + column) * block;
      if (column < 0 || column >= g.in[2])
        std::memset(pixel, padding, static_cast<size_t>(b.channels));
      else if (block == 16)
        copy_blocks<16>(from, g.in_size(), g.in_channels, sign, pixel);
      else
        copy_blocks<8>(from, g.in_size(), g.in_channels, sign, pixel);
    }
  }
  return true;
}

void sum_up_emulated(const Int8Sums& s) {
  for (int64_t t = 0; t < s.points; ++t)
    for (int64_t o = 0; o < s.columns; ++o) {
      const int8_t* w = s.w + o / kInt8Chunk * s.w_step + o % kInt8Chunk * kInt8Quad;
      int32_t sum = 0;
      for (int64_t k = 0; k < s.num_taps; ++k)
        for (int64_t q = 0; q < s.quads; ++q, w += kInt8Chunk * kInt8Quad) {
          const uint8_t* x = static_cast<const uint8_t*>(s.x[t]) + s.taps[k] + q * kInt8Quad;
          for (int64_t c = 0; c < kInt8Quad; ++c) sum += x[c] * w[c];
        }
      s.sums[t * s.columns + o] = sum;
    }
}

#if defined(__x86_64__)
#define HW_VNNI \
  __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni")))  // NOLINT(cppcoreguidelines-macro-usage)

/// Points by V vectors of two chunks of channels.
template <int T, int V>
HW_VNNI void sum_points(const Int8Sums& s) {
  __m512i sum[T][V];
  const uint8_t* x[T];
#pragma GCC unroll 16
  for (int t = 0; t < T; ++t) {
    x[t] = static_cast<const uint8_t*>(s.x[t]);
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) sum[t][v] = _mm512_setzero_si512();
  }
  const int8_t* w = s.w;
  for (int64_t k = 0; k < s.num_taps; ++k)
    for (int64_t at = s.taps[k], end = at + s.quads * kInt8Quad; at < end; at += kInt8Quad) {
      __m512i row[V];
#pragma GCC unroll 2
      for (int v = 0; v < V; ++v)
        row[v] = _mm512_maskz_inserti64x4(
            0xff, _mm512_castsi256_si512(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(w + 2 * v * s.w_step))),
            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(w + (2 * v + 1) * s.w_step)), 1);
#pragma GCC unroll 16
      for (int t = 0; t < T; ++t) {
        int32_t quad;
        std::memcpy(&quad, x[t] + at, sizeof quad);
        const __m512i left = _mm512_set1_epi32(quad);
#pragma GCC unroll 2
        for (int v = 0; v < V; ++v) sum[t][v] = _mm512_dpbusd_epi32(sum[t][v], left, row[v]);
      }
#pragma GCC unroll 4
      for (int v = 0; v < 2 * V; ++v) _mm_prefetch(w + v * s.w_step + kAhead, _MM_HINT_T0);
      w += kInt8Chunk * kInt8Quad;
    }
#pragma GCC unroll 16
  for (int t = 0; t < T; ++t)
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) _mm512_storeu_si512(s.sums + (t * V + v) * 2 * kInt8Chunk, sum[t][v]);
}

template <int V>
void sum_vectors(const Int8Sums& s) {
  switch (s.points) {
    case 1: return sum_points<1, V>(s);
    case 2: return sum_points<2, V>(s);
    case 3: return sum_points<3, V>(s);
    case 4: return sum_points<4, V>(s);
    case 5: return sum_points<5, V>(s);
    case 6: return sum_points<6, V>(s);
    case 7: return sum_points<7, V>(s);
    case 8: return sum_points<8, V>(s);
    case 9: return sum_points<9, V>(s);
    case 10: return sum_points<10, V>(s);
    case 11: return sum_points<11, V>(s);
    case 12: return sum_points<12, V>(s);
    case 13: return sum_points<13, V>(s);
    default: return sum_points<kPoints, V>(s);
  }
}

void sum_up(const Int8Sums& s) { return s.columns > 2 * kInt8Chunk ? sum_vectors<2>(s) : sum_vectors<1>(s); }

#define HW_AVX_VNNI __attribute__((target("avx2,avxvnni")))  // NOLINT(cppcoreguidelines-macro-usage)

/// Points by two chunks of channels.
template <int T>
HW_AVX_VNNI void sum_points_vex(const Int8Sums& s) {
  __m256i sum[T][2];
  const uint8_t* x[T];
#pragma GCC unroll 8
  for (int t = 0; t < T; ++t) {
    x[t] = static_cast<const uint8_t*>(s.x[t]);
    sum[t][0] = sum[t][1] = _mm256_setzero_si256();
  }
  const int8_t* w = s.w;
  for (int64_t k = 0; k < s.num_taps; ++k)
    for (int64_t at = s.taps[k], end = at + s.quads * kInt8Quad; at < end; at += kInt8Quad) {
      const __m256i w0 = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(w)),
                    w1 = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(w + s.w_step));
#pragma GCC unroll 8
      for (int t = 0; t < T; ++t) {
        int32_t quad;
        std::memcpy(&quad, x[t] + at, sizeof quad);
        const __m256i left = _mm256_set1_epi32(quad);
        sum[t][0] = _mm256_dpbusd_avx_epi32(sum[t][0], left, w0);
        sum[t][1] = _mm256_dpbusd_avx_epi32(sum[t][1], left, w1);
      }
      w += kInt8Chunk * kInt8Quad;
    }
#pragma GCC unroll 8
  for (int t = 0; t < T; ++t)
#pragma GCC unroll 2
    for (int v = 0; v < 2; ++v)
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(s.sums + (t * 2 + v) * kInt8Chunk), sum[t][v]);
}

void sum_up_vex(const Int8Sums& s) {
  switch (s.points) {
    case 1: return sum_points_vex<1>(s);
    case 2: return sum_points_vex<2>(s);
    case 3: return sum_points_vex<3>(s);
    case 4: return sum_points_vex<4>(s);
    case 5: return sum_points_vex<5>(s);
    default: return sum_points_vex<kVexPoints>(s);
  }
}
#else
void sum_up(const Int8Sums& s) { sum_up_emulated(s); }
void sum_up_vex(const Int8Sums& s) { sum_up_emulated(s); }
#endif

}  // namespace

bool has_int8_conv_vnni(Vnni form) {
  return form == Vnni::AVX512 ? has_avx512_vnni() : form == Vnni::AVX2 ? has_avx_vnni() : true;
}

Int8ConvRoutines int8_conv_vnni(Vnni form) {
  if (form == Vnni::AVX2) return {write, sum_up_vex, kVexPoints, 2 * kInt8Chunk, 1, true, true};
  return {write, form == Vnni::Emulated ? sum_up_emulated : sum_up, kPoints, kInt8MostColumns, 1, true, true};
}

}  // namespace hw
