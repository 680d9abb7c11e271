// One block of a matrix product on one thread, for every instruction set: packing, micro-kernels, skinny shapes.
// Included by gemm_f32.cpp, gemm_f64.cpp and gemm_16bit.cpp once per Highway target. After Goto and van de Geijn, "Anatomy of
// high-performance matrix multiplication" (2008): panels of A stay in L2, micro-panels of B in L1, the tile of C in registers.

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "backends/cpu/gemm/gemm.h"
#include "core/half.h"

HWY_BEFORE_NAMESPACE();
namespace hw {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_AVX3
constexpr int kMR = 12, kNV = 2, kRegisters = 32;
#elif HWY_TARGET == HWY_NEON
constexpr int kMR = 8, kNV = 3, kRegisters = 32;
#elif HWY_TARGET == HWY_AVX2
constexpr int kMR = 6, kNV = 2, kRegisters = 16;
#else
constexpr int kMR = 4, kNV = 2, kRegisters = 16;
#endif
constexpr int64_t kKC = 320, kMC = 16 * kMR, kNC = 1536;
constexpr int64_t kSkinny = 8;  // up to so many rows of A, B is read where it is

template <class T>
using Full = hn::ScalableTag<T>;
template <class T>
constexpr int64_t kLanes = static_cast<int64_t>(HWY_LANES(T));
template <class T>
constexpr int64_t kNR = kNV* kLanes<T>;

template <class D>
HWY_INLINE hn::VFromD<D> load(D d, const hn::TFromD<D>* p) {
  return hn::LoadU(d, p);
}
template <class D>
HWY_INLINE hn::VFromD<D> load(D d, const BFloat16* p) {
  const hn::Rebind<hwy::bfloat16_t, D> narrow;
  return hn::PromoteTo(d, hn::LoadU(narrow, reinterpret_cast<const hwy::bfloat16_t*>(p)));
}
template <class D>
HWY_INLINE hn::VFromD<D> load(D d, const Half* p) {
  const hn::Rebind<hwy::float16_t, D> narrow;
  return hn::PromoteTo(d, hn::LoadU(narrow, reinterpret_cast<const hwy::float16_t*>(p)));
}

// ---- packing -------------------------------------------------------------------------------------------------------

#if HWY_TARGET == HWY_SCALAR
template <class In, class T>
int64_t pack_transposed(const In*, int64_t, int64_t, int64_t, int64_t, T*) {
  return 0;
}
#else
/// Rows that are contiguous along k, four (two) at a time through 4x4 (2x2) transposes; returns the rows done.
template <class In, class T>
int64_t pack_transposed(const In* src, int64_t row, int64_t count, int64_t k, int64_t width, T* dst) {
  const hn::CappedTag<T, 16 / sizeof(T)> d;
  constexpr int64_t step = 16 / sizeof(T);
  int64_t r = 0;
  for (; r + step <= count; r += step) {
    const In* from = src + r * row;
    T* to = dst + r;
    int64_t p = 0;
    for (; p + step <= k; p += step) {
      if constexpr (step == 4) {
        auto r0 = load(d, from + p), r1 = load(d, from + row + p);
        auto r2 = load(d, from + 2 * row + p), r3 = load(d, from + 3 * row + p);
        auto low02 = hn::InterleaveLower(d, r0, r2), high02 = hn::InterleaveUpper(d, r0, r2);
        auto low13 = hn::InterleaveLower(d, r1, r3), high13 = hn::InterleaveUpper(d, r1, r3);
        hn::StoreU(hn::InterleaveLower(d, low02, low13), d, to + p * width);
        hn::StoreU(hn::InterleaveUpper(d, low02, low13), d, to + (p + 1) * width);
        hn::StoreU(hn::InterleaveLower(d, high02, high13), d, to + (p + 2) * width);
        hn::StoreU(hn::InterleaveUpper(d, high02, high13), d, to + (p + 3) * width);
      } else {
        auto r0 = load(d, from + p), r1 = load(d, from + row + p);
        hn::StoreU(hn::InterleaveLower(d, r0, r1), d, to + p * width);
        hn::StoreU(hn::InterleaveUpper(d, r0, r1), d, to + (p + 1) * width);
      }
    }
    for (; p < k; ++p)
      for (int64_t q = 0; q < step; ++q) to[p * width + q] = static_cast<T>(from[q * row + p]);
  }
  return r;
}
#endif

/// dst[p * width + r] = src[p * col + r]: rows of the panel lie side by side.
template <class In, class T>
void pack_contiguous(const In* src, int64_t col, int64_t count, int64_t k, int64_t width, T* dst) {
  const hn::CappedTag<T, 16 / sizeof(T)> d;
  const Full<T> wide;
  constexpr int64_t step = HWY_MIN(static_cast<int64_t>(16 / sizeof(T)), kLanes<T>);
  for (int64_t p = 0; p < k; ++p) {
    const In* from = src + p * col;
    T* to = dst + p * width;
    int64_t r = 0;
    for (; r + kLanes<T> <= count; r += kLanes<T>) hn::StoreU(load(wide, from + r), wide, to + r);
    for (; r + step <= count; r += step) hn::StoreU(load(d, from + r), d, to + r);
    for (; r < count; ++r) to[r] = static_cast<T>(from[r]);
  }
}

/// One panel: dst[p * width + r] = src[r * row + p * col] for r < count, zero for count <= r < width.
template <class In, class T>
void pack_panel(const In* src, int64_t row, int64_t col, int64_t count, int64_t k, int64_t width, T* dst) {
  if (count < width)
    for (int64_t p = 0; p < k; ++p)
      for (int64_t r = count; r < width; ++r) dst[p * width + r] = T(0);
  if (row == 1) return pack_contiguous(src, col, count, k, width, dst);
  int64_t done = col == 1 ? pack_transposed(src, row, count, k, width, dst) : 0;
  for (int64_t r = done; r < count; ++r)
    for (int64_t p = 0; p < k; ++p) dst[p * width + r] = static_cast<T>(src[r * row + p * col]);
}

/// Panels of `width` rows each, one after the other.
template <class In, class T>
void pack(const In* src, int64_t row, int64_t col, int64_t count, int64_t k, int64_t width, T* dst) {
  for (int64_t r = 0; r < count; r += width, dst += width * k)
    pack_panel(src + r * row, row, col, std::min(width, count - r), k, width, dst);
}

// ---- micro-kernels -------------------------------------------------------------------------------------------------

/// C[M x NV vectors] (+)= alpha * A B over k. A is packed with `a_step` rows; row p of B starts at b + p * b_step.
template <int M, int NV, class B, class T>
HWY_NOINLINE void micro(int64_t k, const T* HWY_RESTRICT a, int64_t a_step, const B* HWY_RESTRICT b, int64_t b_step,
                        T* HWY_RESTRICT c, int64_t c_row, int64_t columns, T alpha, bool accumulate) {
  const Full<T> d;
  constexpr int64_t lanes = kLanes<T>;
  hn::VFromD<Full<T>> sum[M][NV];
#pragma GCC unroll 16
  for (int i = 0; i < M; ++i)
#pragma GCC unroll 8
    for (int j = 0; j < NV; ++j) sum[i][j] = hn::Zero(d);
  for (int64_t p = 0; p < k; ++p) {
    hn::VFromD<Full<T>> row[NV];
#pragma GCC unroll 8
    for (int j = 0; j < NV; ++j) row[j] = load(d, b + j * lanes);
#pragma GCC unroll 16
    for (int i = 0; i < M; ++i) {
      const auto left = hn::Set(d, a[i]);
#pragma GCC unroll 8
      for (int j = 0; j < NV; ++j) sum[i][j] = hn::MulAdd(left, row[j], sum[i][j]);
    }
    a += a_step;
    b += b_step;
  }
  const auto scale = hn::Set(d, alpha);
  if (columns == NV * lanes) {
#pragma GCC unroll 16
    for (int i = 0; i < M; ++i)
#pragma GCC unroll 8
      for (int j = 0; j < NV; ++j) {
        T* to = c + i * c_row + j * lanes;
        auto value = hn::Mul(sum[i][j], scale);
        hn::StoreU(accumulate ? hn::Add(value, hn::LoadU(d, to)) : value, d, to);
      }
    return;
  }
  HWY_ALIGN T edge[NV * lanes];
#pragma GCC unroll 16
  for (int i = 0; i < M; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < NV; ++j) hn::StoreU(hn::Mul(sum[i][j], scale), d, edge + j * lanes);
    T* to = c + i * c_row;
    for (int64_t j = 0; j < columns; ++j) to[j] = accumulate ? to[j] + edge[j] : edge[j];
  }
}

template <class B, class T>
using MicroFn = void (*)(int64_t, const T*, int64_t, const B*, int64_t, T*, int64_t, int64_t, T, bool);

/// The micro-kernel for up to `rows` rows (the panel is zero-padded); sets `rows` to what it writes.
template <int NV, class B, class T>
MicroFn<B, T> micro_for(int64_t rows) {
  switch (rows) {
    case 1: return micro<1, NV, B, T>;
    case 2: return micro<2, NV, B, T>;
    case 3: return micro<3, NV, B, T>;
    case 4: return micro<4, NV, B, T>;
    case 5: return micro<(kMR < 5 ? 1 : 5), NV, B, T>;
    case 6: return micro<(kMR < 6 ? 1 : 6), NV, B, T>;
    case 7: return micro<(kMR < 7 ? 1 : 7), NV, B, T>;
    case 8: return micro<(kMR < 8 ? 1 : 8), NV, B, T>;
    case 9: return micro<(kMR < 9 ? 1 : 9), NV, B, T>;
    case 10: return micro<(kMR < 10 ? 1 : 10), NV, B, T>;
    case 11: return micro<(kMR < 11 ? 1 : 11), NV, B, T>;
    default: return micro<kMR, NV, B, T>;
  }
}

// ---- skinny products: few rows of A --------------------------------------------------------------------------------

/// Vectors of columns that keep enough independent sums for `rows` rows.
constexpr int skinny_vectors(int rows) {
  if (rows == 1) return 8;
  if (rows == 2) return kRegisters == 32 ? 8 : 4;
  if (rows <= 4) return kRegisters == 32 ? 4 : 2;
  return kRegisters == 32 ? 3 : 1;
}

template <int M, class In, class T>
void skinny_rows(const In* b, int64_t b_row, int64_t n, int64_t k, const T* a, T* c, int64_t c_row, T alpha, T* edge) {
  constexpr int NV = skinny_vectors(M);
  constexpr int64_t strip = NV * kLanes<T>;
  int64_t j = 0;
  for (; j + strip <= n; j += strip) micro<M, NV, In, T>(k, a, M, b + j, b_row, c + j, c_row, strip, alpha, false);
  for (; j + kLanes<T> <= n; j += kLanes<T>)
    micro<M, 1, In, T>(k, a, M, b + j, b_row, c + j, c_row, kLanes<T>, alpha, false);
  if (j < n) {
    pack_panel(b + j, int64_t{1}, b_row, n - j, k, kLanes<T>, edge);
    micro<M, 1, T, T>(k, a, M, edge, kLanes<T>, c + j, c_row, n - j, alpha, false);
  }
}

/// B has contiguous rows: strips of columns, straight from B.
template <class In, class T>
void skinny_wide(const GemmBlock& g, T* c, int64_t c_row, T* scratch) {
  auto* a = static_cast<const In*>(g.a);
  auto* b = static_cast<const In*>(g.b);
  T* panel = scratch;
  T* edge = scratch + kSkinny * g.k;
  T alpha = static_cast<T>(g.alpha);
  for (int64_t i = 0; i < g.m;) {
    int64_t rows = std::min<int64_t>(g.m - i, std::min<int64_t>(kMR, 4));
    pack_panel(a + i * g.a_row, g.a_row, g.a_col, rows, g.k, rows, panel);
    T* to = c + i * c_row;
    switch (rows) {
      case 1: skinny_rows<1>(b, g.b_row, g.n, g.k, panel, to, c_row, alpha, edge); break;
      case 2: skinny_rows<2>(b, g.b_row, g.n, g.k, panel, to, c_row, alpha, edge); break;
      case 3: skinny_rows<3>(b, g.b_row, g.n, g.k, panel, to, c_row, alpha, edge); break;
      default: skinny_rows<4>(b, g.b_row, g.n, g.k, panel, to, c_row, alpha, edge); break;
    }
    i += rows;
  }
}

/// M x N dot products of rows that are contiguous along k.
template <int M, int N, class In, class T>
HWY_NOINLINE void dots(int64_t k, const In* a, int64_t a_row, const In* b, int64_t b_col, T* c, int64_t c_row,
                       T alpha) {
  const Full<T> d;
  constexpr int64_t lanes = kLanes<T>;
  hn::VFromD<Full<T>> sum[M][N];
#pragma GCC unroll 4
  for (int i = 0; i < M; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < N; ++j) sum[i][j] = hn::Zero(d);
  int64_t p = 0;
  for (; p + lanes <= k; p += lanes) {
    hn::VFromD<Full<T>> left[M];
#pragma GCC unroll 4
    for (int i = 0; i < M; ++i) left[i] = load(d, a + i * a_row + p);
#pragma GCC unroll 4
    for (int j = 0; j < N; ++j) {
      const auto right = load(d, b + j * b_col + p);
#pragma GCC unroll 4
      for (int i = 0; i < M; ++i) sum[i][j] = hn::MulAdd(left[i], right, sum[i][j]);
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < M; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < N; ++j) {
      T total = hn::GetLane(hn::SumOfLanes(d, sum[i][j]));
      for (int64_t q = p; q < k; ++q) total += static_cast<T>(a[i * a_row + q]) * static_cast<T>(b[j * b_col + q]);
      c[i * c_row + j] = total * alpha;
    }
}

template <int M, class In, class T>
void dot_rows(const GemmBlock& g, const In* a, const In* b, int64_t columns, T* c, int64_t c_row) {
  T alpha = static_cast<T>(g.alpha);
  if (columns == 4) return dots<M, 4>(g.k, a, g.a_row, b, g.b_col, c, c_row, alpha);
  for (int64_t j = 0; j < columns; ++j) dots<M, 1>(g.k, a, g.a_row, b + j * g.b_col, g.b_col, c + j, c_row, alpha);
}

/// B has contiguous columns and A contiguous rows: dot products.
template <class In, class T>
void skinny_dots(const GemmBlock& g, T* c, int64_t c_row) {
  constexpr int64_t most = kRegisters == 32 ? 4 : 2;
  auto* a = static_cast<const In*>(g.a);
  auto* b = static_cast<const In*>(g.b);
  for (int64_t j = 0; j < g.n; j += 4) {
    int64_t columns = std::min<int64_t>(4, g.n - j);
    const In* right = b + j * g.b_col;
    int64_t i = 0;
    if constexpr (most == 4)
      for (; i + 4 <= g.m; i += 4) dot_rows<4>(g, a + i * g.a_row, right, columns, c + i * c_row + j, c_row);
    for (; i + 2 <= g.m; i += 2) dot_rows<2>(g, a + i * g.a_row, right, columns, c + i * c_row + j, c_row);
    for (; i < g.m; ++i) dot_rows<1>(g, a + i * g.a_row, right, columns, c + i * c_row + j, c_row);
  }
}

// ---- the whole block -----------------------------------------------------------------------------------------------

/// C += beta * input over a tile of c (element type T) that was just written.
template <class In, class T>
void add_input(const GemmBlock& g, T* c, int64_t c_row, int64_t i0, int64_t j0, int64_t rows, int64_t columns) {
  if (!g.input) return;
  T beta = static_cast<T>(g.beta);
  const Full<T> d;
  for (int64_t i = 0; i < rows; ++i) {
    const In* from = static_cast<const In*>(g.input) + (i0 + i) * g.input_row + j0 * g.input_col;
    T* to = c + i * c_row;
    int64_t j = 0;
    if (g.input_col == 1) {
      const auto scale = hn::Set(d, beta);
      for (; j + kLanes<T> <= columns; j += kLanes<T>)
        hn::StoreU(hn::MulAdd(load(d, from + j), scale, hn::LoadU(d, to + j)), d, to + j);
    }
    for (; j < columns; ++j) to[j] += beta * static_cast<T>(from[j * g.input_col]);
  }
}

/// All row panels of one packed A against one strip of columns of B.
template <int NV, class B, class In, class T>
void strip(const GemmBlock& g, const T* a, int64_t rows, int64_t kc, const B* b, int64_t b_step, T* c, int64_t c_row,
           int64_t i0, int64_t j0, int64_t columns, bool first) {
  for (int64_t i = 0; i < rows; i += kMR) {
    int64_t height = std::min<int64_t>(kMR, rows - i);
    micro_for<NV, B, T>(height)(kc, a + i * kc, kMR, b, b_step, c + i * c_row, c_row, columns, static_cast<T>(g.alpha),
                                !first);
    if (first) add_input<In>(g, c + i * c_row, c_row, i0 + i, j0, height, columns);
  }
}

inline int64_t k_block(int64_t k) {
  int64_t blocks = (k + kKC - 1) / kKC;
  return std::max<int64_t>(1, ((k + blocks - 1) / std::max<int64_t>(1, blocks) + 3) / 4 * 4);
}

/// One packed B panel (kc x nc) against all of A.
template <class In, class T>
void panel_product(const GemmBlock& g, const T* packed_b, T* packed_a, T* c, int64_t c_row, int64_t p, int64_t kc,
                   int64_t j, int64_t nc, bool direct_b) {
  constexpr int64_t nr = kNR<T>;
  auto* a = static_cast<const In*>(g.a);
  for (int64_t i = 0; i < g.m; i += kMC) {
    int64_t mc = std::min(kMC, g.m - i);
    pack(a + i * g.a_row + p * g.a_col, g.a_row, g.a_col, mc, kc, int64_t{kMR}, packed_a);
    for (int64_t jr = 0; jr < nc; jr += nr) {
      int64_t columns = std::min(nr, nc - jr);
      T* to = c + i * c_row + jr;
      const T* panel = packed_b + (direct_b ? 0 : jr * kc);
      int64_t step = nr;
      if constexpr (std::is_same_v<In, T>)
        if (direct_b && columns == nr) panel = static_cast<const T*>(g.b) + p * g.b_row + j + jr, step = g.b_row;
      if (kNV == 2 && columns <= kLanes<T>)
        strip<1, T, In>(g, packed_a, mc, kc, panel, step, to, c_row, i, j + jr, columns, p == 0 && !g.accumulate);
      else
        strip<kNV, T, In>(g, packed_a, mc, kc, panel, step, to, c_row, i, j + jr, columns, p == 0 && !g.accumulate);
    }
  }
}

/// B in panels of kKC x kNC, packed unless A is so small that packing would not pay.
template <class In, class T>
void blocked(const GemmBlock& g, T* c, int64_t c_row, T* scratch) {
  constexpr int64_t nr = kNR<T>;
  int64_t most_kc = k_block(g.k);
  T* packed_a = scratch;
  T* packed_b = packed_a + std::min(kMC, (g.m + kMR - 1) / kMR * kMR) * most_kc;
  auto* b = static_cast<const In*>(g.b);
  bool direct_b = std::is_same_v<In, T> && g.b_col == 1 && g.m <= 4 * kMR;
  for (int64_t j = 0; j < g.n; j += kNC) {
    int64_t nc = std::min(kNC, g.n - j);
    for (int64_t p = 0; p < g.k; p += most_kc) {
      int64_t kc = std::min(most_kc, g.k - p);
      const In* from = b + p * g.b_row + j * g.b_col;
      if (!direct_b)
        pack(from, g.b_col, g.b_row, nc, kc, nr, packed_b);
      else if (int64_t whole = nc / nr * nr; whole < nc)
        pack_panel(from + whole, int64_t{1}, g.b_row, nc - whole, kc, nr, packed_b);
      panel_product<In>(g, packed_b, packed_a, c + j, c_row, p, kc, j, nc, direct_b);
    }
  }
}

/// Rounds a block of sums to 16 bits.
template <class In>
void narrow(const GemmBlock& g, const float* sums) {
  for (int64_t i = 0; i < g.m; ++i) {
    In* to = static_cast<In*>(g.c) + i * g.c_row;
    const float* from = sums + i * g.n;
    int64_t j = 0;
    if constexpr (std::is_same_v<In, Half>) {
      const Full<float> d;
      const hn::Rebind<hwy::float16_t, Full<float>> half;
      for (; j + kLanes<float> <= g.n; j += kLanes<float>)
        hn::StoreU(hn::DemoteTo(half, hn::LoadU(d, from + j)), half, reinterpret_cast<hwy::float16_t*>(to + j));
    }
    for (; j < g.n; ++j) to[j] = In(from[j]);
  }
}

template <class In, class T>
void block(const GemmBlock& g) {
  auto* scratch = static_cast<T*>(g.scratch);
  T* c;
  int64_t c_row = g.c_row;
  if constexpr (std::is_same_v<In, T>) {
    c = static_cast<T*>(g.c);
  } else {
    c = scratch;
    c_row = g.n;
    scratch += (g.m * g.n + 15) / 16 * 16;
  }
  bool skinny = g.m <= kSkinny && !g.accumulate;
  if (g.k == 0 && !g.accumulate) {
    for (int64_t i = 0; i < g.m; ++i) std::fill_n(c + i * c_row, g.n, T(0));
    add_input<In>(g, c, c_row, 0, 0, g.m, g.n);
  } else if (skinny && g.b_row == 1 && g.a_col == 1 && g.k >= kLanes<T>) {
    skinny_dots<In>(g, c, c_row);
    add_input<In>(g, c, c_row, 0, 0, g.m, g.n);
  } else if (skinny && g.b_col == 1) {
    skinny_wide<In>(g, c, c_row, scratch);
    add_input<In>(g, c, c_row, 0, 0, g.m, g.n);
  } else {
    blocked<In>(g, c, c_row, scratch);
  }
  if constexpr (!std::is_same_v<In, T>) narrow<In>(g, c);
}

template <class In, class T>
size_t block_scratch(int64_t m, int64_t n, int64_t k) {
  int64_t kc = std::min(kKC, (k + 3) / 4 * 4);  // k_block() of a smaller k may be larger
  int64_t packed_a = std::min(kMC, (m + kMR - 1) / kMR * kMR) * kc;
  int64_t packed_b = std::min(kNC + kNR<T>, (n + kNR<T> - 1) / kNR<T> * kNR<T>) * kc;
  int64_t skinny = m <= kSkinny ? (kSkinny + kLanes<T>)*k : 0;
  int64_t sums = std::is_same_v<In, T> ? 0 : (m * n + 15) / 16 * 16;
  return sizeof(T) * static_cast<size_t>(sums + std::max(packed_a + packed_b, skinny) + 32);
}

template <class In, class T>
GemmRoutines routines() {
  return {block<In, T>, block_scratch<In, T>, kMR, static_cast<int>(kNR<T>)};
}

}  // namespace HWY_NAMESPACE
}  // namespace hw
HWY_AFTER_NAMESPACE();
