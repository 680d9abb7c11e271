// Pieces of _conv2d_packed for each instruction set: sums of some output points by some channels stay in registers. A sum has the same
// order wherever its point lies, so that results depend neither on threads nor on how pieces are cut.
#include "kernels/simd/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/conv/packed_conv.cpp"
#include "backends/cpu/gemm/targets.h"
// After targets.h.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <limits>

#include "backends/cpu/conv/packed_conv.h"
#include "kernels/elementwise/functors_float.h"

HWY_BEFORE_NAMESPACE();
namespace hw {
namespace HWY_NAMESPACE {
namespace {

using ChunkTag = hn::CappedTag<float, kChunkChannels>;
using ChunkVec = hn::VFromD<ChunkTag>;
constexpr int kChunkLanes = static_cast<int>(HWY_MIN(HWY_LANES(float), kChunkChannels));
constexpr int kChunkVecs = static_cast<int>(kChunkChannels) / kChunkLanes;  // of a chunk

// As many sums as there are registers for: 12 of 16, 24 of 32.
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
constexpr int kChunks = 1, kPoints = 2;
using Value = float;
constexpr int64_t kValueLanes = 1;
Value value_at(const float* p) { return *p; }
void put(Value v, float* p) { *p = v; }
#else
constexpr int kChunks = 2, kPoints = kChunkLanes == 4 && HWY_TARGET != HWY_NEON ? 2 : 6;
using Value = Pack<float>;
constexpr int64_t kValueLanes = static_cast<int64_t>(HWY_LANES(float));
HWY_INLINE Value value_at(const float* p) { return Value::load(p); }
HWY_INLINE void put(Value v, float* p) { v.store(p); }
#endif

template <class F>
HWY_NOINLINE void apply(float* values, int64_t count) {
  const F f{};
  for (int64_t i = 0; i < count; i += kValueLanes) put(f(value_at(values + i)), values + i);
}

/// A NaN stays one.
HWY_INLINE ChunkVec between(ChunkVec v, ChunkVec low, ChunkVec high) {
  return hn::IfThenElse(hn::Lt(v, low), low, hn::IfThenElse(hn::Gt(v, high), high, v));
}

/// Residual, activation and store of T points of one chunk; `at` is where the first one lies in y.
template <int T>
HWY_INLINE void finish(const PackedConvPlan& p, const PackedConvData& data, ChunkVec (&sum)[T][kChunkVecs],
                       int64_t at) {
  const ChunkTag d;
  const PackedConvRequest& r = p.request;
  HWY_ALIGN float buffer[T * kChunkChannels + 16];  // what is applied to vectors of any width may read past the end
  const bool buffered = r.activation == ConvActivation::Sigmoid || r.activation == ConvActivation::Silu;
  const auto zero = hn::Zero(d);
#pragma GCC unroll 8
  for (int t = 0; t < T; ++t)
#pragma GCC unroll 8
    for (int v = 0; v < kChunkVecs; ++v) {
      const int64_t to = at + t * r.block_out + v * kChunkLanes;
      ChunkVec s = sum[t][v];
      if (data.residual) s = hn::Add(s, hn::LoadU(d, data.residual + to));
      if (r.activation == ConvActivation::Relu) {
        s = hn::IfThenElse(hn::Lt(s, zero), zero, s);
      } else if (r.activation == ConvActivation::Clamp) {
        s = between(s, hn::Set(d, static_cast<float>(r.low)), hn::Set(d, static_cast<float>(r.high)));
      } else if (r.activation == ConvActivation::Hardswish) {
        const auto gate = hn::MulAdd(s, hn::Set(d, 1.0F / 6), hn::Set(d, 0.5F));
        s = hn::Mul(s, between(gate, zero, hn::Set(d, 1.0F)));
      }
      hn::StoreU(s, d, buffered ? buffer + t * kChunkChannels + v * kChunkLanes : data.y + to);
    }
  if (!buffered) return;
  std::fill_n(buffer + T * kChunkChannels, 16, 0.0F);
  r.activation == ConvActivation::Silu ? apply<functors::silu>(buffer, T * kChunkChannels)
                                       : apply<functors::sigmoid>(buffer, T * kChunkChannels);
  for (int t = 0; t < T; ++t) std::copy_n(buffer + t * kChunkChannels, kChunkChannels, data.y + at + t * r.block_out);
}

/// Kernel points that lie inside of the image, and where the first of them reads.
struct Window {
  int64_t top, bottom, left, right;  // of the kernel
  int64_t at;                        // of kernel point (0, 0); may lie before the image
};

/// Kernel points [first, last) with 0 <= start + k * dilation < size.
HWY_INLINE void inside(int64_t start, int64_t size, int64_t kernel, int64_t dilation, int64_t& first, int64_t& last) {
  first = start >= 0 ? 0 : std::min(kernel, (-start + dilation - 1) / dilation);
  last = start >= size ? first : std::max(first, std::min(kernel, (size - start + dilation - 1) / dilation));
}

/// Part of the sums of T points by N chunks: input blocks [first_block, last_block).
struct DenseCall {
  const float* x = nullptr;          // of the image and group
  const int64_t* offset = nullptr;   // of each kernel point and each of the T points in a block of x; negative: outside
  const float* w[kChunks] = {};      // of the first block
  const float* ahead = nullptr;      // weights of a later call
  const float* start[kChunks] = {};  // what the sums begin with
  float* sum[kChunks] = {};          // where they are put
  const float* residual[kChunks] = {};
  int64_t start_step = 0, sum_step = 0, residual_step = 0;  // from point to point
  int64_t first_block = 0, last_block = 0;
  float low = 0, high = 0;
};

HWY_ALIGN constexpr float kOutside[64] = {};  // what lies around an image; blocks are at most this wide

/// `Count` channels of T points by N chunks.
template <int T, int N, int Count>
HWY_INLINE void add_channels(const float* const (&from)[T], int64_t x_channel, const float* const (&w)[N],
                             int64_t w_channel, ChunkVec (&sum)[N][T][kChunkVecs]) {
  const ChunkTag d;
#pragma GCC unroll 8
  for (int c = 0; c < Count; ++c) {
    ChunkVec row[N][kChunkVecs];
#pragma GCC unroll 8
    for (int n = 0; n < N; ++n)
#pragma GCC unroll 8
      for (int v = 0; v < kChunkVecs; ++v) row[n][v] = hn::LoadU(d, w[n] + c * w_channel + v * kChunkLanes);
#pragma GCC unroll 8
    for (int t = 0; t < T; ++t) {
      const auto value = hn::Set(d, from[t][c * x_channel]);
#pragma GCC unroll 8
      for (int n = 0; n < N; ++n)
#pragma GCC unroll 8
        for (int v = 0; v < kChunkVecs; ++v) sum[n][t][v] = hn::MulAdd(value, row[n][v], sum[n][t][v]);
    }
  }
}

/// Weights are called to L2 one line in eight; eight calls with other `ahead` bring all.
template <int T, int N, bool kPlain>
HWY_NOINLINE void dense_points(const PackedConvPlan& p, const DenseCall& call) {
  const ChunkTag d;
  const int64_t taps = p.request.geometry.kernel_size();
  ChunkVec sum[N][T][kChunkVecs];
#pragma GCC unroll 8
  for (int n = 0; n < N; ++n)
#pragma GCC unroll 8
    for (int t = 0; t < T; ++t)
#pragma GCC unroll 8
      for (int v = 0; v < kChunkVecs; ++v)
        sum[n][t][v] =
            call.start[n] ? hn::LoadU(d, call.start[n] + t * call.start_step + v * kChunkLanes) : hn::Zero(d);
  const float* w[N];
  for (int n = 0; n < N; ++n) w[n] = call.w[n] + call.first_block * p.w_block;
  const float* ahead = call.ahead;
  for (int64_t b = call.first_block; b < call.last_block; ++b) {
    const float* x = call.x + b * p.x_block;
    const int64_t* offset = call.offset;
    for (int64_t k = 0; k < taps; ++k, offset += T) {
      const float* from[T];
#pragma GCC unroll 8
      for (int t = 0; t < T; ++t) from[t] = offset[t] < 0 ? kOutside : x + offset[t];
      if constexpr (kPlain) {
        for (int64_t c = 0; c < p.in_channels; ++c) {
          add_channels<T, N, 1>(from, 0, w, 0, sum);
          for (int t = 0; t < T; ++t) from[t] += offset[t] < 0 ? 0 : p.x_channel;
          for (int n = 0; n < N; ++n) w[n] += p.w_channel;
        }
      } else {
        for (int64_t c = 0; c < p.in_channels; c += kChunkChannels) {
          __builtin_prefetch(ahead, 0, 2);
          add_channels<T, N, static_cast<int>(kChunkChannels)>(from, 1, w, p.w_channel, sum);
          for (int t = 0; t < T; ++t) from[t] += kChunkChannels;
          for (int n = 0; n < N; ++n) w[n] += kChunkChannels * p.w_channel;
          ahead += kChunkChannels * p.w_channel;
        }
      }
    }
  }
  const auto low = hn::Set(d, call.low), high = hn::Set(d, call.high);
#pragma GCC unroll 8
  for (int n = 0; n < N; ++n)
#pragma GCC unroll 8
    for (int t = 0; t < T; ++t)
#pragma GCC unroll 8
      for (int v = 0; v < kChunkVecs; ++v) {
        ChunkVec s = sum[n][t][v];
        if (call.residual[n]) s = hn::Add(s, hn::LoadU(d, call.residual[n] + t * call.residual_step + v * kChunkLanes));
        hn::StoreU(between(s, low, high), d, call.sum[n] + t * call.sum_step + v * kChunkLanes);
      }
}

using DensePoints = void (*)(const PackedConvPlan&, const DenseCall&);
template <int T, bool kPlain>
constexpr DensePoints dense_at_most(int chunks) {
  constexpr int kT = T < kPoints ? T : kPoints;
  return chunks == 1 ? &dense_points<kT, 1, kPlain> : &dense_points<kT, kChunks, kPlain>;
}
template <bool kPlain>
DensePoints dense_of(int points, int chunks) {
  switch (points) {
    case 1: return dense_at_most<1, kPlain>(chunks);
    case 2: return dense_at_most<2, kPlain>(chunks);
    case 3: return dense_at_most<3, kPlain>(chunks);
    case 4: return dense_at_most<4, kPlain>(chunks);
    case 5: return dense_at_most<5, kPlain>(chunks);
    default: return dense_at_most<6, kPlain>(chunks);
  }
}

/// hardswish, silu, sigmoid of stored sums of one chunk, `step` apart.
HWY_NOINLINE void activate_stored(ConvActivation activation, float* y, int64_t step, int64_t points) {
  const ChunkTag d;
  HWY_ALIGN float buffer[kChunkChannels + 16] = {};  // what is applied to vectors of any width may read past the end
  for (int64_t t = 0; t < points; ++t, y += step) {
    if (activation == ConvActivation::Hardswish) {
      for (int64_t v = 0; v < kChunkChannels; v += kChunkLanes) {
        const auto s = hn::LoadU(d, y + v);
        const auto gate = hn::MulAdd(s, hn::Set(d, 1.0F / 6), hn::Set(d, 0.5F));
        hn::StoreU(hn::Mul(s, between(gate, hn::Zero(d), hn::Set(d, 1.0F))), d, y + v);
      }
      continue;
    }
    std::copy_n(y, kChunkChannels, buffer);
    activation == ConvActivation::Silu ? apply<functors::silu>(buffer, kChunkChannels)
                                       : apply<functors::sigmoid>(buffer, kChunkChannels);
    std::copy_n(buffer, kChunkChannels, y);
  }
}

/// A piece: groups of points of equal size, or one less, by panels of kChunks chunks. Where a panel's weights do not fit L1 its sums are
/// taken by parts of the input blocks, all groups by one part before the next, and wait in `scratch`.
class DenseRun {
 public:
  DenseRun(const PackedConvPlan& plan, const PackedConvData& data, const PackedConvPiece& piece)
      : p_(plan), r_(plan.request), data_(data), s_(piece), points_(s_.end - s_.begin) {
    groups_ = (points_ + kPoints - 1) / kPoints;
    parts_ = std::clamp<int64_t>(p_.in_blocks * p_.w_block * kChunks * 4 / (r_.block_out / kChunkChannels) / kPartBytes,
                                 1, p_.in_blocks);
    sums_ = data.scratch;
    offsets_ = reinterpret_cast<int64_t*>(sums_ + kChunks * kChunkChannels * points_);
    const ConvGeometry& g = r_.geometry;
    x_ = data.x + s_.image * g.in_channels * g.in_size() + s_.group * g.group_in() * g.in_size();
    low_ = -std::numeric_limits<float>::infinity(), high_ = -low_;
    if (r_.activation == ConvActivation::Relu) low_ = 0;
    if (r_.activation == ConvActivation::Clamp) low_ = static_cast<float>(r_.low), high_ = static_cast<float>(r_.high);
    for (int64_t i = 0; i < groups_; ++i) set_offsets(group_at(i), group_at(i + 1), i);
  }

  void run() {
    for (int64_t c = s_.first; c < s_.last;) {
      const int count = c + kChunks <= s_.last ? kChunks : 1;
      panel(c, count);
      c += count;
    }
  }

 private:
  static constexpr int64_t kPartBytes = 16 * 1024;
  int64_t group_at(int64_t i) const { return points_ * i / groups_; }
  int64_t* offsets_of(int64_t i) const { return offsets_ + group_at(i) * r_.geometry.kernel_size(); }

  void set_offsets(int64_t first, int64_t last, int64_t group) {
    const ConvGeometry& g = r_.geometry;
    int64_t* to = offsets_of(group);
    const int64_t count = last - first;
    for (int64_t t = 0; t < count; ++t) {
      const int64_t point = s_.begin + first + t;
      const int64_t row = point / g.out[2] * g.stride[1] - g.padding[1];
      const int64_t column = point % g.out[2] * g.stride[2] - g.padding[2];
      for (int64_t k = 0; k < g.kernel[1]; ++k)
        for (int64_t l = 0; l < g.kernel[2]; ++l) {
          const int64_t y = row + k * g.dilation[1], x = column + l * g.dilation[2];
          const bool inside = y >= 0 && y < g.in[1] && x >= 0 && x < g.in[2];
          to[(k * g.kernel[2] + l) * count + t] = inside ? y * p_.x_row + x * p_.x_column : -1;
        }
    }
  }

  void panel(int64_t chunk, int count) {
    const ConvGeometry& g = r_.geometry;
    DenseCall call;
    call.x = x_, call.residual_step = r_.block_out;
    int64_t at[kChunks];
    for (int n = 0; n < count; ++n) {
      const int64_t channel = s_.group * g.group_out() + (chunk + n) * kChunkChannels;
      call.w[n] = data_.w + channel / r_.block_out * p_.in_blocks * p_.w_block + channel % r_.block_out;
      at[n] = r_.output_at(s_.image, channel, 0, 0) + s_.begin * r_.block_out;
    }
    for (int64_t part = 0; part < parts_; ++part) {
      call.first_block = p_.in_blocks * part / parts_, call.last_block = p_.in_blocks * (part + 1) / parts_;
      const bool begins = part == 0, ends = part + 1 == parts_;
      call.start_step = begins ? 0 : kChunkChannels, call.sum_step = ends ? r_.block_out : kChunkChannels;
      call.low = ends ? low_ : -std::numeric_limits<float>::infinity(), call.high = ends ? high_ : -call.low;
      for (int64_t i = 0; i < groups_; ++i) {
        const int64_t first = group_at(i), points = group_at(i + 1) - first;
        call.offset = offsets_of(i);
        for (int n = 0; n < count; ++n) {
          const int64_t channel = s_.group * g.group_out() + (chunk + n) * kChunkChannels;
          float* kept = sums_ + (n * points_ + first) * kChunkChannels;
          call.start[n] = !begins ? kept : data_.bias ? data_.bias + channel : nullptr;
          call.sum[n] = ends ? data_.y + at[n] + first * r_.block_out : kept;
          call.residual[n] = ends && data_.residual ? data_.residual + at[n] + first * r_.block_out : nullptr;
        }
        // Lines of eight channels of the next part, or of the next panel: its blocks follow these.
        call.ahead = i / 4 < count
                         ? call.w[i / 4] + (ends ? count * p_.in_blocks : call.last_block) * p_.w_block + i % 4 * 16
                         : call.w[0] + call.first_block * p_.w_block;
        (r_.block_in == 1 ? dense_of<true> : dense_of<false>)(static_cast<int>(points), count)(p_, call);
      }
    }
    if (r_.activation >= ConvActivation::Sigmoid)
      for (int n = 0; n < count; ++n) activate_stored(r_.activation, data_.y + at[n], r_.block_out, points_);
  }

  const PackedConvPlan& p_;
  const PackedConvRequest& r_;
  const PackedConvData& data_;
  const PackedConvPiece& s_;
  int64_t points_, groups_, parts_;
  float low_, high_;
  float* sums_;
  int64_t* offsets_;
  const float* x_;
};

/// T output points side by side of one chunk whose windows are alike, where each channel has its own image: x and w in chunks.
template <int T>
HWY_NOINLINE void depthwise_points(const PackedConvPlan& p, const PackedConvData& data, const float* x,
                                   const Window& window, const float* w, const float* bias, int64_t at) {
  const ChunkTag d;
  const ConvGeometry& g = p.request.geometry;
  const int64_t step = g.stride[2] * p.x_column;
  ChunkVec sum[T][kChunkVecs];
#pragma GCC unroll 8
  for (int t = 0; t < T; ++t)
#pragma GCC unroll 8
    for (int v = 0; v < kChunkVecs; ++v) sum[t][v] = bias ? hn::LoadU(d, bias + v * kChunkLanes) : hn::Zero(d);
  for (int64_t k = window.top; k < window.bottom; ++k)
    for (int64_t l = window.left; l < window.right; ++l) {
      const float* from = x + (window.at + k * g.dilation[1] * p.x_row + l * g.dilation[2] * p.x_column);
      const float* weight = w + (k * g.kernel[2] + l) * p.w_point;
#pragma GCC unroll 8
      for (int v = 0; v < kChunkVecs; ++v) {
        const auto factor = hn::LoadU(d, weight + v * kChunkLanes);
#pragma GCC unroll 8
        for (int t = 0; t < T; ++t)
          sum[t][v] = hn::MulAdd(factor, hn::LoadU(d, from + t * step + v * kChunkLanes), sum[t][v]);
      }
    }
  finish<T>(p, data, sum, at);
}

/// Output columns of one row, for one chunk after the other.
class DepthwiseRun {
 public:
  DepthwiseRun(const PackedConvPlan& plan, const PackedConvData& data, const PackedConvPiece& piece)
      : p_(plan), r_(plan.request), g_(plan.request.geometry), data_(data), s_(piece) {
    top_ = s_.row * g_.stride[1] - g_.padding[1];
    inside(top_, g_.in[1], g_.kernel[1], g_.dilation[1], window_.top, window_.bottom);
    // Columns whose windows lie inside of the image.
    const int64_t reach = (g_.kernel[2] - 1) * g_.dilation[2], stride = g_.stride[2];
    const int64_t room = g_.in[2] + g_.padding[2] - reach;
    first_ = std::clamp((g_.padding[2] + stride - 1) / stride, s_.begin, s_.end);
    last_ = std::clamp(room <= 0 ? first_ : (room + stride - 1) / stride, first_, s_.end);
  }

  void run(int64_t chunk) {
    channel_ = chunk * kChunkChannels;
    const int64_t block = channel_ / r_.block_out, offset = channel_ % r_.block_out;
    x_ = data_.x + s_.image * g_.in_channels * g_.in_size() + block * p_.x_block + offset;
    w_ = data_.w + block * g_.kernel_size() * r_.block_out + offset;
    y_ = r_.output_at(s_.image, channel_, s_.row, 0);
    int64_t o = s_.begin;
    for (; o < first_; ++o) points(1, o);
    for (; o + kPoints <= last_; o += kPoints) points(kPoints, o);
    for (; o + 2 <= last_; o += 2) points(2, o);
    for (; o < s_.end; ++o) points(1, o);
  }

 private:
  void points(int points, int64_t column) {
    const int64_t left = column * g_.stride[2] - g_.padding[2];
    window_.left = 0, window_.right = g_.kernel[2];
    if (points == 1) inside(left, g_.in[2], g_.kernel[2], g_.dilation[2], window_.left, window_.right);
    window_.at = top_ * p_.x_row + left * p_.x_column;
    const auto run = points == kPoints ? depthwise_points<kPoints>
                     : points == 2     ? depthwise_points<2>
                                       : depthwise_points<1>;
    run(p_, data_, x_, window_, w_, data_.bias ? data_.bias + channel_ : nullptr, y_ + column * r_.block_out);
  }

  const PackedConvPlan& p_;
  const PackedConvRequest& r_;
  const ConvGeometry& g_;
  const PackedConvData& data_;
  const PackedConvPiece& s_;
  Window window_ = {};
  int64_t top_, first_, last_, channel_ = 0, y_ = 0;
  const float *x_ = nullptr, *w_ = nullptr;
};

void run_piece(const PackedConvPlan& plan, const PackedConvData& data, const PackedConvPiece& piece) {
  if (!plan.request.depthwise) return DenseRun(plan, data, piece).run();
  DepthwiseRun run(plan, data, piece);
  for (int64_t c = piece.first; c < piece.last; ++c) run.run(c);
}

}  // namespace

PackedConvRoutines packed_conv_pieces() { return {run_piece, kChunks, kPoints}; }

}  // namespace HWY_NAMESPACE
}  // namespace hw
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hw {
PackedConvRoutines packed_conv_routines() { return HW_BEST_TARGET(packed_conv_pieces)(); }
}  // namespace hw
#endif
