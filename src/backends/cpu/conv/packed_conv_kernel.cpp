// _conv2d_packed in own SIMD code: how output points and channels are cut for the caches and the thread team.
#include <algorithm>

#include "backends/cpu/conv/packed_conv.h"
#include "base/thread_team.h"
#include "kernels/isa.h"

namespace hw {
namespace {

constexpr int64_t kLargeWeights = 1 << 20, kFewPoints = 64;
constexpr int64_t kWorkPerThread = 1 << 17;  // multiply-adds below which a fork costs more than it saves

/// A kernel of one point that neither skips nor pads sees the image as one row.
void flatten(ConvGeometry& g) {
  if (!g.pointwise()) return;
  g.in[2] *= g.in[1], g.in[1] = 1;
  g.out[2] *= g.out[1], g.out[1] = 1;
}

PackedConvPlan plan_of(PackedConvRequest r) {
  PackedConvPlan p;
  flatten(r.geometry);
  const ConvGeometry& g = r.geometry;
  const bool plain = r.block_in == 1;
  p.x_column = r.block_in, p.x_row = g.in[2] * r.block_in;
  p.x_channel = plain ? g.in_size() : 1;
  p.x_block = g.in_size() * r.block_in;
  p.in_blocks = plain || r.depthwise ? 1 : r.in_blocks();
  p.in_channels = plain ? g.group_in() : r.block_in;
  p.w_channel = r.block_out;
  p.w_point = r.depthwise ? r.block_out : p.in_channels * r.block_out;
  p.w_block = p.w_point * g.kernel_size();
  p.request = r;
  return p;
}

/// Runs body(slot, begin, end) over [0, count) in one piece for each slot.
template <class F>
void in_slots(int64_t count, int64_t slots, F&& body) {
  parallel_for(slots, 1, [&](int64_t first, int64_t last) {
    for (int64_t slot = first; slot < last; ++slot) body(slot, count * slot / slots, count * (slot + 1) / slots);
  });
}

int64_t slots_for(const ConvGeometry& g) {
  return std::clamp<int64_t>(g.flops() / 2 / kWorkPerThread, 1, num_threads());
}

PackedConvData data_of(const KernelArgs& args) {
  PackedConvData data;
  data.x = static_cast<const float*>(args.inputs[0]), data.w = static_cast<const float*>(args.inputs[1]);
  data.bias = static_cast<const float*>(args.inputs[2]), data.residual = static_cast<const float*>(args.inputs[3]);
  data.y = static_cast<float*>(args.outputs[0]);
  return data;
}

/// Rows in bands of columns.
class DepthwiseKernel final : public Kernel {
 public:
  explicit DepthwiseKernel(const PackedConvPlan& plan) : p_(plan), routines_(packed_conv_routines()) {
    const ConvGeometry& g = p_.request.geometry;
    chunks_ = g.out_channels / kChunkChannels;
    bands_ = std::max<int64_t>(1, g.out[2] / kStripPoints);
    slots_ = slots_for(g);
  }

  void run(const KernelArgs& args) const override {
    const PackedConvData data = data_of(args);
    const ConvGeometry& g = p_.request.geometry;
    in_slots(g.batch * g.out[1] * bands_ * chunks_, slots_, [&](int64_t, int64_t begin, int64_t end) {
      for (int64_t u = begin; u < end; ++u) {
        PackedConvPiece s;
        const int64_t strip = u / chunks_, band = strip % bands_;
        s.first = u % chunks_, s.last = s.first + 1;
        s.image = strip / bands_ / g.out[1], s.row = strip / bands_ % g.out[1];
        s.begin = column_at(band), s.end = column_at(band + 1);
        routines_.run(p_, data, s);
      }
    });
  }

 private:
  static constexpr int64_t kStripPoints = 48;
  /// Bands begin at multiples of the points that are computed together.
  int64_t column_at(int64_t band) const {
    const int64_t columns = p_.request.geometry.out[2];
    return band == bands_ ? columns : columns * band / bands_ / routines_.points * routines_.points;
  }

  PackedConvPlan p_;
  PackedConvRoutines routines_;
  int64_t chunks_, bands_, slots_;
};

/// Threads share what is smaller: where the weights are larger than the image each takes a part of the output channels, so that no weight
/// is read by two; otherwise a part of the points. A range of points is as large as its input fits L2 beside the weights that pass.
class DenseKernel final : public Kernel {
 public:
  explicit DenseKernel(const PackedConvPlan& plan) : p_(plan), routines_(packed_conv_routines()) {
    const ConvGeometry& g = p_.request.geometry;
    chunks_ = g.group_out() / kChunkChannels;
    panels_ = (chunks_ + routines_.chunks - 1) / routines_.chunks;
    planes_ = g.batch * g.groups, points_ = g.out_size();
    slots_ = slots_for(g);
    const bool heavy = g.group_out() * g.kernel_size() > g.in_size();
    parts_ = heavy && panels_ >= 2 * slots_ ? slots_ : 1;
    const int64_t point_bytes = 4 * g.group_in() * std::max<int64_t>(1, g.in_size() / points_);
    const int64_t most =
        std::clamp<int64_t>((heavy ? kHeavyBytes : kLightBytes) / point_bytes, kLeastPoints, kMostPoints);
    ranges_ = std::max<int64_t>(1, (points_ + most / 2) / most);
    if (parts_ == 1 && planes_ % slots_ != 0) ranges_ = (ranges_ + slots_ - 1) / slots_ * slots_;
    ranges_ = std::min(ranges_, points_);
    slot_bytes_ = packed_conv_scratch(routines_, (points_ + ranges_ - 1) / ranges_, g.kernel_size());
  }

  size_t scratch_bytes() const override { return static_cast<size_t>(slots_ * slot_bytes_); }

  void run(const KernelArgs& args) const override {
    const PackedConvData all = data_of(args);
    in_slots(parts_ * planes_ * ranges_, slots_, [&](int64_t slot, int64_t begin, int64_t end) {
      PackedConvData data = all;
      data.scratch = reinterpret_cast<float*>(static_cast<char*>(args.scratch) + slot * slot_bytes_);
      for (int64_t u = begin; u < end; ++u) {
        const int64_t range = u % ranges_, plane = u / ranges_ % planes_, part = u / ranges_ / planes_;
        PackedConvPiece s;
        s.image = plane / p_.request.geometry.groups, s.group = plane % p_.request.geometry.groups;
        s.begin = points_ * range / ranges_, s.end = points_ * (range + 1) / ranges_;
        s.first = panels_ * part / parts_ * routines_.chunks;
        s.last = std::min(chunks_, panels_ * (part + 1) / parts_ * routines_.chunks);
        routines_.run(p_, data, s);
      }
    });
  }

 private:
  static constexpr int64_t kHeavyBytes = 448 * 1024, kLightBytes = 128 * 1024, kLeastPoints = 48, kMostPoints = 256;
  PackedConvPlan p_;
  PackedConvRoutines routines_;
  int64_t chunks_, panels_, planes_, points_, slots_, parts_, ranges_, slot_bytes_;
};

std::unique_ptr<Kernel> prepare(const KernelRequest& request, std::string& why_not) {
  PackedConvRequest r;
  if (!read_packed_conv(request, r, why_not)) return nullptr;
  const bool even = r.depthwise ? r.block_in == r.block_out : r.block_in == 1 || r.block_in % kChunkChannels == 0;
  if (!even || r.block_out % kChunkChannels != 0 || request.outputs[0].numel() == 0 || request.inputs[0].numel() == 0) {
    why_not = "empty, or blocks that are no multiples of 8";
    return nullptr;
  }
  if (r.block_in > 64) {
    why_not = "blocks of more than 64 channels";
    return nullptr;
  }
  const PackedConvPlan plan = plan_of(r);
  if (r.depthwise) return std::make_unique<DepthwiseKernel>(plan);
  return std::make_unique<DenseKernel>(plan);
}

/// Where this was measured faster than oneDNN: on AVX2, large weights and few points, for it calls weights from memory before they are
/// needed, and no two threads read the same ones. A 1x1 convolution gains on several threads only.
std::unique_ptr<Kernel> prepare_first(const KernelRequest& request, std::string& why_not) {
  PackedConvRequest r;
  if (!read_packed_conv(request, r, why_not)) return nullptr;
  const ConvGeometry& g = r.geometry;
  const int64_t weights = g.group_out() * g.group_in() * g.kernel_size();
  const bool large = g.batch == 1 && g.groups == 1 && g.out_size() <= kFewPoints && weights >= kLargeWeights;
  const bool strided = g.kernel_size() == 9 && g.stride[1] == 2 && g.stride[2] == 2;
  const bool pays = large && (strided || (g.kernel_size() == 1 && num_threads() > 1));
  if (isa() != Isa::AVX2 || r.block_in != 8 || r.block_out != 8 || !pays) {
    why_not = "oneDNN is as fast unless weights are large and points are few";
    return nullptr;
  }
  return prepare(request, why_not);
}

const RegisterKernel entry({"_conv2d_packed", "simd", DeviceType::CPU, 10, &prepare});
const RegisterKernel first({"_conv2d_packed", "simd", DeviceType::CPU, 30, &prepare_first});

}  // namespace
}  // namespace hw
