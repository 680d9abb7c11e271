// Strips of _conv2d_packed for each instruction set: sums of some output points by some channels stay in registers over the whole sum,
// whose order is the same wherever a point lies, so that results depend neither on threads nor on how strips are cut.
#include "kernels/simd/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/conv/packed_conv.cpp"
#include "backends/cpu/gemm/targets.h"
// After targets.h.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

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

/// T output points side by side by N chunks, all of whose windows are alike.
template <int T, int N>
HWY_NOINLINE void dense_points(const PackedConvPlan& p, const PackedConvData& data, const float* x,
                               const Window& window, const float* const* w, const float* const* bias,
                               const int64_t* at) {
  const ChunkTag d;
  const ConvGeometry& g = p.request.geometry;
  const int64_t step = g.stride[2] * p.x_column;
  ChunkVec sum[N][T][kChunkVecs];
#pragma GCC unroll 8
  for (int n = 0; n < N; ++n)
#pragma GCC unroll 8
    for (int t = 0; t < T; ++t)
#pragma GCC unroll 8
      for (int v = 0; v < kChunkVecs; ++v) sum[n][t][v] = bias ? hn::LoadU(d, bias[n] + v * kChunkLanes) : hn::Zero(d);
  for (int64_t b = 0; b < p.in_blocks; ++b)
    for (int64_t k = window.top; k < window.bottom; ++k)
      for (int64_t l = window.left; l < window.right; ++l) {
        const float* from =
            x + (window.at + b * p.x_block + k * g.dilation[1] * p.x_row + l * g.dilation[2] * p.x_column);
        const int64_t weight = b * p.w_block + (k * g.kernel[2] + l) * p.w_point;
        for (int64_t c = 0; c < p.in_channels; ++c, from += p.x_channel) {
          ChunkVec row[N][kChunkVecs];
#pragma GCC unroll 8
          for (int n = 0; n < N; ++n)
#pragma GCC unroll 8
            for (int v = 0; v < kChunkVecs; ++v)
              row[n][v] = hn::LoadU(d, w[n] + weight + c * p.w_channel + v * kChunkLanes);
#pragma GCC unroll 8
          for (int t = 0; t < T; ++t) {
            const auto value = hn::Set(d, from[t * step]);
#pragma GCC unroll 8
            for (int n = 0; n < N; ++n)
#pragma GCC unroll 8
              for (int v = 0; v < kChunkVecs; ++v) sum[n][t][v] = hn::MulAdd(value, row[n][v], sum[n][t][v]);
          }
        }
      }
#pragma GCC unroll 8
  for (int n = 0; n < N; ++n) finish<T>(p, data, sum[n], at[n]);
}

/// The same where each channel has its own image: x and w in chunks.
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

/// Where a chunk's channels are.
struct Chunk {
  int64_t channel;  // first output channel
  int64_t block, offset;
};
HWY_INLINE Chunk chunk_at(const PackedConvRequest& r, int64_t group, int64_t index) {
  const int64_t channel = (r.depthwise ? 0 : group * r.geometry.group_out()) + index * kChunkChannels;
  return {channel, channel / r.block_out, channel % r.block_out};
}

/// Up to kChunks chunks over the strip; `run(T, N)` constants are chosen by what is left.
class StripRun {
 public:
  StripRun(const PackedConvPlan& plan, const PackedConvData& data, const PackedConvStrip& strip)
      : p_(plan), r_(plan.request), g_(plan.request.geometry), data_(data), s_(strip) {
    top_ = s_.row * g_.stride[1] - g_.padding[1];
    inside(top_, g_.in[1], g_.kernel[1], g_.dilation[1], window_.top, window_.bottom);
    // Columns whose windows lie inside of the image.
    const int64_t reach = (g_.kernel[2] - 1) * g_.dilation[2], stride = g_.stride[2];
    const int64_t room = g_.in[2] + g_.padding[2] - reach;
    first_ = std::clamp((g_.padding[2] + stride - 1) / stride, s_.begin, s_.end);
    last_ = std::clamp(room <= 0 ? first_ : (room + stride - 1) / stride, first_, s_.end);
  }

  void run(int64_t chunk, int count) {
    const float* x = data_.x + s_.image * g_.in_channels * g_.in_size();
    if (!r_.depthwise) x += s_.group * g_.group_in() * g_.in_size();
    for (int n = 0; n < count; ++n) {
      const Chunk c = chunk_at(r_, s_.group, chunk + n);
      w_[n] = data_.w +
              (r_.depthwise ? c.block * g_.kernel_size() * r_.block_out : c.block * p_.in_blocks * p_.w_block) +
              c.offset;
      bias_[n] = data_.bias ? data_.bias + c.channel : nullptr;
      y_[n] = r_.output_at(s_.image, c.channel, s_.row, 0);
      if (r_.depthwise) x_ = x + c.block * p_.x_block + c.offset;
    }
    if (!r_.depthwise) x_ = x;
    int64_t o = s_.begin;
    for (; o < first_; ++o) points(1, count, o);
    for (; o + kPoints <= last_; o += kPoints) points(kPoints, count, o);
    for (; o + 2 <= last_; o += 2) points(2, count, o);
    for (; o < s_.end; ++o) points(1, count, o);
  }

 private:
  void points(int points, int count, int64_t column) {
    const int64_t left = column * g_.stride[2] - g_.padding[2];
    window_.left = 0, window_.right = g_.kernel[2];
    if (points == 1) inside(left, g_.in[2], g_.kernel[2], g_.dilation[2], window_.left, window_.right);
    window_.at = top_ * p_.x_row + left * p_.x_column;
    int64_t at[kChunks];
    for (int n = 0; n < count; ++n) at[n] = y_[n] + column * r_.block_out;
    const float* const* bias = data_.bias ? bias_ : nullptr;
    if (r_.depthwise) {
      const auto run = points == kPoints ? depthwise_points<kPoints>
                       : points == 2     ? depthwise_points<2>
                                         : depthwise_points<1>;
      return run(p_, data_, x_, window_, w_[0], bias_[0], at[0]);
    }
    const auto one = points == kPoints ? dense_points<kPoints, 1>
                     : points == 2     ? dense_points<2, 1>
                                       : dense_points<1, 1>;
    const auto all = points == kPoints ? dense_points<kPoints, kChunks>
                     : points == 2     ? dense_points<2, kChunks>
                                       : dense_points<1, kChunks>;
    (count == kChunks ? all : one)(p_, data_, x_, window_, w_, bias, at);
  }

  const PackedConvPlan& p_;
  const PackedConvRequest& r_;
  const ConvGeometry& g_;
  const PackedConvData& data_;
  const PackedConvStrip& s_;
  Window window_ = {};
  int64_t top_, first_, last_;
  const float* x_ = nullptr;
  const float *w_[kChunks] = {}, *bias_[kChunks] = {};
  int64_t y_[kChunks] = {};
};

void run_strip(const PackedConvPlan& plan, const PackedConvData& data, const PackedConvStrip& strip) {
  StripRun run(plan, data, strip);
  const int most = plan.request.depthwise ? 1 : kChunks;
  for (int64_t c = strip.first; c < strip.last;) {
    const int count = c + most <= strip.last ? most : 1;
    run.run(c, count);
    c += count;
  }
}

}  // namespace

PackedConvRoutines packed_conv_strips() { return {run_strip, kChunks, kPoints}; }

}  // namespace HWY_NAMESPACE
}  // namespace hw
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hw {
PackedConvRoutines packed_conv_routines() { return HW_BEST_TARGET(packed_conv_strips)(); }
}  // namespace hw
#endif
