// _conv2d_int8: how output rows and channels are cut for the caches and the thread team.
#include <algorithm>
#include <cstring>
#include <vector>

#include "backends/cpu/conv/int8_conv.h"
#include "base/thread_team.h"
#include "kernels/isa.h"

namespace hw {

Int8Band int8_band(const Int8Conv& conv, int64_t channel_multiple) {
  Int8Band b;
  b.conv = conv;
  const ConvGeometry& g = conv.geometry();
  for (size_t a = 0; a < 2; ++a) {
    const bool one = g.kernel[a + 1] == 1;  // only what is read is kept
    b.stride[a] = one ? 1 : g.stride[a + 1];
    b.dilation[a] = g.dilation[a + 1];
    (a ? b.column_step : b.row_step) = one ? g.stride[a + 1] : 1;
  }
  b.columns = (g.out[2] - 1) * b.stride[1] + (g.kernel[2] - 1) * b.dilation[1] + 1;
  b.channels = (g.in_channels + channel_multiple - 1) / channel_multiple * channel_multiple;
  return b;
}

namespace {

constexpr int64_t kBandBytes = 160 << 10;    // of a band: a part of L2
constexpr int64_t kWorkPerThread = 1 << 18;  // multiply-adds below which a fork costs more than it saves

class Int8ConvKernel final : public Kernel {
 public:
  Int8ConvKernel(const Int8Conv& p, const Int8ConvRoutines& routines)
      : routines_(routines),
        finisher_(int8_conv_finisher()),
        band_(int8_band(p, p.depthwise ? kInt8DepthChunk : kInt8Quad)) {
    const ConvGeometry& g = p.geometry();
    const int64_t row = band_.row_values() * routines_.value_bytes;
    int64_t rows = g.out[1];
    while (rows > 1 && band_.in_rows(rows) * row > kBandBytes) rows = (rows + 1) / 2;
    band_.rows = rows;
    bands_ = (g.out[1] + rows - 1) / rows;
    // Kernel points beside each other are one run of values.
    run_ = p.depthwise || band_.dilation[1] != 1 ? 1 : g.kernel[2];
    for (int64_t k = 0; k < g.kernel[1]; ++k)
      for (int64_t l = 0; l < g.kernel[2]; l += run_)
        taps_.push_back((k * band_.dilation[0] * band_.columns + l * band_.dilation[1]) * band_.channels);
    columns_ = p.depthwise ? kInt8DepthChunk : routines_.columns;
    panels_ = (g.out_channels + columns_ - 1) / columns_;
    slots_ = std::clamp<int64_t>(g.flops() / 2 / kWorkPerThread, 1, num_threads());
    band_bytes_ = (band_.in_rows(rows) * row + 128 + 63) / 64 * 64;
    slot_bytes_ = band_bytes_ + (routines_.keeps_zero ? (run_ * band_.channels + 63) / 64 * 64 : 0);
    at_zero_.resize(taps_.size(), 0);
  }
  size_t scratch_bytes() const override { return static_cast<size_t>(slots_ * slot_bytes_ + 64); }

  void run(const KernelArgs& args) const override {
    const Int8ConvFinish finish = int8_conv_finish(band_.conv, args);
    const int32_t zero = int8_conv_zero(band_.conv, args);
    const int64_t units = band_.conv.geometry().batch * bands_ * panels_;
    parallel_for(slots_, 1, [&](int64_t first, int64_t last) {
      for (int64_t slot = first; slot < last; ++slot)
        run_units(args, finish, zero, units * slot / slots_, units * (slot + 1) / slots_,
                  static_cast<char*>(args.scratch) + slot * slot_bytes_);
    });
  }

 private:
  /// Units are numbered image by image, band by band, panel by panel; a band is written once for its panels.
  void run_units(const KernelArgs& args, const Int8ConvFinish& finish, int32_t zero, int64_t begin, int64_t end,
                 void* band) const {
    const ConvGeometry& g = band_.conv.geometry();
    int64_t written = -1;
    if (keeps_zero())
      std::memset(static_cast<char*>(band) + band_bytes_, zero + (band_.conv.is_signed ? 128 : 0),
                  static_cast<size_t>(run_ * band_.channels));
    for (int64_t u = begin; u < end; ++u) {
      const int64_t image = u / panels_ / bands_, first = u / panels_ % bands_ * band_.rows;
      const int64_t rows = std::min(band_.rows, g.out[1] - first);
      if (written != u / panels_) {
        const auto* x = static_cast<const char*>(args.inputs[0]) + image * g.in_channels * g.in_size();
        routines_.widen(band_, x, first, rows, zero, band);
        written = u / panels_;
      }
      run_panel(args, finish, image, first, rows, u % panels_, band);
    }
  }

  Int8Sums sums_of(const KernelArgs& args, int64_t panel) const {
    const Int8Conv& p = band_.conv;
    Int8Sums s;
    s.taps = taps_.data(), s.num_taps = static_cast<int64_t>(taps_.size()), s.quads = run_ * p.quads();
    const auto* w = static_cast<const int8_t*>(args.inputs[1]);
    const int64_t channel = panel * columns_;
    s.w[0] = w + p.weight_at(channel, 0, 0);
    s.w[1] = channel + kInt8Chunk < p.geometry().out_channels && !p.depthwise
                 ? w + p.weight_at(channel + kInt8Chunk, 0, 0)
                 : s.w[0];
    return s;
  }

  bool keeps_zero() const { return routines_.keeps_zero && !band_.conv.depthwise; }

  void run_panel(const KernelArgs& args, const Int8ConvFinish& finish, int64_t image, int64_t first, int64_t rows,
                 int64_t panel, const void* band) const {
    const Int8Conv& p = band_.conv;
    const ConvGeometry& g = p.geometry();
    alignas(64) int32_t sums[kInt8MostPoints * kInt8MostColumns];
    alignas(64) int32_t shift[kInt8MostColumns] = {};
    const void* x[kInt8MostPoints];
    Int8Sums s = sums_of(args, panel);
    s.x = x;
    if (keeps_zero()) {  // a point all of whose values are the zero point
      x[0] = static_cast<const char*>(band) + band_bytes_;
      s.points = 1, s.taps = at_zero_.data(), s.sums = shift;
      routines_.sum_up(s);
      s.taps = taps_.data();
    }
    s.sums = sums;
    const int64_t base = image * g.out_channels * g.out_size(), most = p.depthwise ? 4 : routines_.points;
    const int64_t total = rows * g.out[2], values = routines_.value_bytes;
    const int64_t depth = p.depthwise ? panel * kInt8DepthChunk : 0;
    int64_t row = 0, column = 0;
    for (int64_t t = 0; t < total; t += s.points) {
      s.points = std::min(most, total - t);
      for (int64_t i = 0; i < s.points; ++i) {
        const int64_t at = (row * band_.stride[0] * band_.columns + column * band_.stride[1]) * band_.channels + depth;
        x[i] = static_cast<const char*>(band) + at * values;
        if (++column == g.out[2]) column = 0, ++row;
      }
      (p.depthwise ? finisher_.depthwise : routines_.sum_up)(s);
      if (keeps_zero())
        for (int64_t i = 0; i < s.points * columns_; ++i) sums[i] -= shift[i % columns_];
      finisher_.finish(p, finish, sums, columns_, panel * columns_, base, first * g.out[2] + t, s.points,
                       args.outputs[0]);
    }
  }

  Int8ConvRoutines routines_;
  Int8ConvFinisher finisher_;
  Int8Band band_;
  std::vector<int64_t> taps_, at_zero_;
  int64_t run_ = 1, bands_ = 1, columns_ = kInt8Chunk, panels_ = 1, slots_ = 1, band_bytes_ = 0, slot_bytes_ = 0;
};

std::unique_ptr<Kernel> prepare(const KernelRequest& request, std::string& why_not) {
  Int8Conv p;
  if (!read_int8_conv(request, p, why_not)) return nullptr;
  if (request.outputs[0].numel() == 0 || request.inputs[0].numel() == 0) {
    why_not = "empty";
    return nullptr;
  }
  return int8_conv_kernel(p, !p.depthwise && has_int8_conv_vnni() ? int8_conv_vnni(false) : int8_conv_routines());
}

const RegisterKernel entry({"_conv2d_int8", "simd", DeviceType::CPU, 10, &prepare});

}  // namespace

std::unique_ptr<Kernel> int8_conv_kernel(const Int8Conv& conv, const Int8ConvRoutines& routines) {
  return std::make_unique<Int8ConvKernel>(conv, routines);
}

}  // namespace hw
