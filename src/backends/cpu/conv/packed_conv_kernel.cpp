// _conv2d_packed in own SIMD code: how output points and channels are cut for the caches and the thread team.
#include <algorithm>

#include "backends/cpu/conv/packed_conv.h"
#include "base/thread_team.h"

namespace hw {
namespace {

constexpr int64_t kWorkPerThread = 1 << 17;  // multiply-adds below which a fork costs more than it saves
constexpr int64_t kStripPoints = 48;

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

class PackedConvKernel final : public Kernel {
 public:
  explicit PackedConvKernel(const PackedConvRequest& r) : p_(plan_of(r)), routines_(packed_conv_routines()) {
    const ConvGeometry& g = p_.request.geometry;
    chunks_ = (p_.request.depthwise ? g.out_channels : g.group_out()) / kChunkChannels;
    groups_ = p_.request.depthwise ? 1 : g.groups;
    bands_ = std::max<int64_t>(1, g.out[2] / kStripPoints);
    strips_ = g.out[1] * bands_;
    // What is larger is read once: the weights, chunk after chunk, or the image, strip after strip.
    const int64_t weights = g.group_out() * g.group_in() * g.kernel_size(), image = g.group_in() * g.in_size();
    by_chunks_ = !p_.request.depthwise && weights > image;
    panels_ = (chunks_ + routines_.chunks - 1) / routines_.chunks;
    const int64_t work = g.flops() / 2;
    slots_ = std::clamp<int64_t>(work / kWorkPerThread, 1, num_threads());
  }

  void run(const KernelArgs& args) const override {
    PackedConvData data;
    data.x = static_cast<const float*>(args.inputs[0]), data.w = static_cast<const float*>(args.inputs[1]);
    data.bias = static_cast<const float*>(args.inputs[2]), data.residual = static_cast<const float*>(args.inputs[3]);
    data.y = static_cast<float*>(args.outputs[0]);
    const int64_t units = p_.request.geometry.batch * groups_ * strips_ * panels_;
    parallel_for(slots_, 1, [&](int64_t first, int64_t last) {
      for (int64_t slot = first; slot < last; ++slot)
        run_units(data, units * slot / slots_, units * (slot + 1) / slots_);
    });
  }

 private:
  /// Units are numbered image by image, group by group; within one, panels and strips in the order that suits.
  void run_units(const PackedConvData& data, int64_t begin, int64_t end) const {
    const int64_t inner = by_chunks_ ? strips_ : panels_, outer = by_chunks_ ? panels_ : strips_;
    for (int64_t u = begin; u < end; ++u) {
      const int64_t plane = u / (inner * outer), i = u % inner, o = u / inner % outer;
      const int64_t strip = by_chunks_ ? i : o, panel = by_chunks_ ? o : i, band = strip % bands_;
      const int64_t columns = p_.request.geometry.out[2];
      PackedConvStrip s;
      s.image = plane / groups_, s.group = plane % groups_;
      s.row = strip / bands_, s.begin = column_at(band, columns), s.end = column_at(band + 1, columns);
      s.first = panel * routines_.chunks, s.last = std::min(chunks_, s.first + routines_.chunks);
      routines_.strip(p_, data, s);
    }
  }
  /// Bands begin at multiples of the points that are computed together.
  int64_t column_at(int64_t band, int64_t columns) const {
    return band == bands_ ? columns : columns * band / bands_ / routines_.points * routines_.points;
  }

  PackedConvPlan p_;
  PackedConvRoutines routines_;
  int64_t chunks_, groups_, bands_, strips_, panels_, slots_;
  bool by_chunks_;
};

std::unique_ptr<Kernel> prepare(const KernelRequest& request, std::string& why_not) {
  PackedConvRequest r;
  if (!read_packed_conv(request, r, why_not)) return nullptr;
  const bool even = r.depthwise ? r.block_in == r.block_out : r.block_in == 1 || r.block_in % kChunkChannels == 0;
  if (!even || r.block_out % kChunkChannels != 0 || request.outputs[0].numel() == 0 || request.inputs[0].numel() == 0) {
    why_not = "empty, or blocks that are no multiples of 8";
    return nullptr;
  }
  return std::make_unique<PackedConvKernel>(r);
}

const RegisterKernel entry({"_conv2d_packed", "simd", DeviceType::CPU, 10, &prepare});

}  // namespace
}  // namespace hw
