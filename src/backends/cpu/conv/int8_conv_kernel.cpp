// _conv2d_int8 and _conv2d_int8_both: how output rows and channels are cut for the caches and the thread team.
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
constexpr int64_t kLeastRows = 4;            // a team's bands are not cut below: rows beside a band are written twice
constexpr int64_t kRareRest = 16;            // one quad in so many may be written smaller
constexpr int64_t kWorkPerThread = 1 << 18;  // multiply-adds below which a fork costs more than it saves

class Int8ConvKernel final : public Kernel {
 public:
  Int8ConvKernel(const Int8Conv& p, const Int8ConvRoutines* first, const Int8ConvRoutines& all)
      : all_(all),
        first_(first ? *first : all),
        has_first_(first != nullptr),
        finisher_(int8_conv_finisher()),
        band_(int8_band(p, p.depthwise ? kInt8DepthChunk : kInt8Quad)) {
    const ConvGeometry& g = p.geometry();
    const int64_t row = band_.row_values() * first_.value_bytes;
    int64_t rows = g.out[1];
    while (rows > 1 && band_.in_rows(rows) * row > kBandBytes) rows = (rows + 1) / 2;
    panels_ = (g.out_channels + kPanel - 1) / kPanel;
    slots_ = std::clamp<int64_t>(g.flops() / 2 / kWorkPerThread, 1, num_threads());
    const auto units = [&] { return g.batch * panels_ * ((g.out[1] + rows - 1) / rows); };
    while (slots_ > 1 && rows > kLeastRows && units() < 2 * slots_) rows = (rows + 1) / 2;
    band_.rows = rows;
    bands_ = (g.out[1] + rows - 1) / rows;
    // Kernel points beside each other are one run of values.
    run_ = p.depthwise || band_.dilation[1] != 1 ? 1 : g.kernel[2];
    for (int64_t k = 0; k < g.kernel[1]; ++k)
      for (int64_t l = 0; l < g.kernel[2]; l += run_)
        tap_pixels_.push_back(k * band_.dilation[0] * band_.columns + l * band_.dilation[1]);
    for (int64_t pixel : tap_pixels_) taps_.push_back(pixel * band_.channels);
    in_place_ = !p.depthwise && !p.is_signed && p.images.block_in > 1 && p.taps() == 1 && g.padding[1] == 0 &&
                g.padding[2] == 0;
    if (in_place_)
      for (int64_t c = 0; c < g.in_channels; c += p.images.block_in) block_taps_.push_back(c * g.in_size());
    pixels_ = band_.in_rows(rows) * band_.columns;
    values_ = pixels_ * band_.channels;
    band_bytes_ = aligned(values_ * std::max(all_.value_bytes, first_.value_bytes) + 128);
    zeros_bytes_ = aligned(run_ * band_.channels);
    if (has_first_) most_rests_ = values_ / kInt8Quad / kRareRest + 64;
    rests_bytes_ = has_first_ ? aligned(most_rests_ * static_cast<int64_t>(sizeof(Int8Rest))) : 0;
    const int64_t starts = has_first_ ? aligned((pixels_ + 1) * static_cast<int64_t>(sizeof(int32_t))) : 0;
    slot_bytes_ = band_bytes_ + zeros_bytes_ + rests_bytes_ + starts;
    at_zero_.resize(std::max(taps_.size(), block_taps_.size()), 0);
  }
  size_t scratch_bytes() const override { return static_cast<size_t>(slots_ * slot_bytes_ + 64); }

  void run(const KernelArgs& args) const override {
    Launch launch{args, int8_conv_finish(band_.conv, args), int8_conv_zero(band_.conv, args)};
    const int64_t units = band_.conv.geometry().batch * bands_ * panels_;
    parallel_for(slots_, 1, [&](int64_t first, int64_t last) {
      for (int64_t slot = first; slot < last; ++slot)
        run_units(launch, units * slot / slots_, units * (slot + 1) / slots_,
                  static_cast<char*>(args.scratch) + slot * slot_bytes_);
    });
  }

 private:
  static constexpr int64_t kPanel = 32, kLeastColumns = 16;
  static int64_t aligned(int64_t bytes) { return (bytes + 63) / 64 * 64; }

  struct Launch {
    const KernelArgs& args;
    Int8ConvFinish finish;
    int32_t zero;
  };
  /// A band that was written, and by whose routines.
  struct Written {
    const Int8ConvRoutines* by = nullptr;
    bool in_place = false;  // values are the image's
    const char *values = nullptr, *zeros = nullptr;
    Int8Rests rests;
    int64_t image = 0, first = 0, rows = 0;
  };

  /// Units are numbered image by image, band by band, panel by panel; a band is written once for its panels.
  void run_units(const Launch& launch, int64_t begin, int64_t end, char* memory) const {
    const ConvGeometry& g = band_.conv.geometry();
    Written band;
    char* zeros = memory + band_bytes_;
    band.zeros = zeros;
    band.rests = {reinterpret_cast<Int8Rest*>(zeros + zeros_bytes_),
                  reinterpret_cast<int32_t*>(zeros + zeros_bytes_ + rests_bytes_), most_rests_};
    std::memset(zeros, launch.zero + (band_.conv.is_signed ? 128 : 0), static_cast<size_t>(zeros_bytes_));
    int64_t written = -1;
    bool try_first = has_first_;
    for (int64_t u = begin; u < end; ++u) {
      if (written != u / panels_) {
        written = u / panels_;
        band.image = written / bands_, band.first = written % bands_ * band_.rows;
        band.rows = std::min(band_.rows, g.out[1] - band.first);
        const auto* x = static_cast<const char*>(launch.args.inputs[0]) + band.image * g.in_channels * g.in_size();
        const auto write = [&](const Int8ConvRoutines& by) {
          band.by = &by;
          band.in_place = by.reads_images && in_place_;
          if (band.in_place) {
            band.values = x + band.first * g.stride[1] * g.in[2] * band_.conv.images.block_in;
            return true;
          }
          band.values = memory;
          return by.write(band_, x, band.first, band.rows, launch.zero, memory, band.rests);
        };
        try_first = try_first && write(first_);  // where one band is refused, the next ones would be
        if (!try_first) write(all_);
      }
      const int64_t panel = u % panels_ * kPanel, end_of_panel = std::min(panel + kPanel, g.out_channels);
      for (int64_t c = panel, columns; c < end_of_panel; c += columns) {
        columns = columns_of(*band.by, end_of_panel - c);
        run_channels(launch, band, c, columns);
      }
    }
  }

  /// Columns of the next tile: as many chunks as the routine takes, where there are so many, else the least it takes.
  int64_t columns_of(const Int8ConvRoutines& by, int64_t channels) const {
    if (band_.conv.depthwise) return kInt8DepthChunk;
    return by.columns <= kLeastColumns || channels >= by.columns ? by.columns : kLeastColumns;
  }

  Int8Sums sums_of(const Launch& launch, const Written& band, int64_t channel, int64_t columns) const {
    const Int8Conv& p = band_.conv;
    Int8Sums s;
    s.columns = columns;
    s.taps = taps_.data(), s.num_taps = static_cast<int64_t>(taps_.size()), s.quads = run_ * p.quads();
    if (band.in_place) {
      s.taps = block_taps_.data(), s.num_taps = static_cast<int64_t>(block_taps_.size());
      s.quads = p.images.block_in / kInt8Quad;
    }
    const auto* w = static_cast<const int8_t*>(launch.args.inputs[1]);
    s.w = w + p.weight_at(channel, 0, 0);
    if (columns > kInt8Chunk && channel + kInt8Chunk < p.geometry().out_channels && !p.depthwise)
      s.w_step = p.weight_at(channel + kInt8Chunk, 0, 0) - p.weight_at(channel, 0, 0);
    return s;
  }

  void run_channels(const Launch& launch, const Written& band, int64_t channel, int64_t columns) const {
    const Int8Conv& p = band_.conv;
    const ConvGeometry& g = p.geometry();
    const Int8ConvRoutines& by = *band.by;
    alignas(64) int32_t sums[kInt8MostPoints * kInt8MostColumns];
    alignas(64) int32_t shift[kInt8MostColumns];
    const void* x[kInt8MostPoints];
    Int8Sums s = sums_of(launch, band, channel, columns);
    s.x = x;
    Int8Tile tile{sums, nullptr, columns, channel, band.image * g.out_channels * g.out_size()};
    if (by.keeps_zero && !p.depthwise && (launch.zero != 0 || p.is_signed)) {
      x[0] = band.zeros;  // a point all of whose values are the zero point
      Int8Sums zero = s;
      zero.points = 1, zero.taps = at_zero_.data(), zero.sums = shift;
      by.sum_up(zero);
      tile.shift = shift;
    }
    s.sums = sums;
    const int64_t most = p.depthwise ? finisher_.depthwise_points : by.points;
    const int64_t total = band.rows * g.out[2], depth = p.depthwise ? channel : 0;
    Pixels pixel(band_, band.in_place, by.value_bytes);
    int64_t pixels[kInt8MostPoints];
    for (int64_t t = 0; t < total; t += s.points) {
      s.points = even_part(total - t, most);
      for (int64_t i = 0; i < s.points; ++i) {
        pixels[i] = pixel.next();
        x[i] = band.values + pixels[i] * pixel.bytes + depth * by.value_bytes;
      }
      (p.depthwise ? finisher_.depthwise : by.sum_up)(s);
      if (by.add_rest) add_rests(band, s, pixels);
      tile.at = band.first * g.out[2] + t, tile.points = s.points;
      finisher_.finish(p, launch.finish, tile);
    }
  }

  /// Where output points read from: pixels of the band, or of the image in place.
  struct Pixels {
    Pixels(const Int8Band& b, bool in_place, int64_t value_bytes) : columns(b.conv.geometry().out[2]) {
      const ConvGeometry& g = b.conv.geometry();
      across = in_place ? g.stride[2] : b.stride[1];
      down = (in_place ? g.stride[1] * g.in[2] : b.stride[0] * b.columns) - columns * across;
      bytes = in_place ? b.conv.images.block_in : b.channels * value_bytes;
    }
    int64_t next() {
      const int64_t here = pixel;
      pixel += across;
      if (++column == columns) column = 0, pixel += down;
      return here;
    }
    int64_t columns, across = 1, down = 0, bytes = 0;
    int64_t pixel = 0, column = 0;
  };

  /// Tiles of nearly the same size, none above `most`.
  static int64_t even_part(int64_t left, int64_t most) {
    const int64_t tiles = (left + most - 1) / most;
    return (left + tiles - 1) / tiles;
  }

  /// Of the quads that points read: in each run of pixels.
  void add_rests(const Written& band, const Int8Sums& s, const int64_t* pixels) const {
    for (int64_t i = 0; i < s.points; ++i)
      for (size_t k = 0; k < tap_pixels_.size(); ++k) {
        const int64_t pixel = pixels[i] + tap_pixels_[k], from = pixel * band_.channels;
        for (int32_t e = band.rests.starts[pixel], end = band.rests.starts[pixel + run_]; e < end; ++e) {
          const Int8Rest& rest = band.rests.list[e];
          const int64_t w = (static_cast<int64_t>(k) * s.quads + (rest.at - from) / kInt8Quad) * kInt8Chunk * kInt8Quad;
          band.by->add_rest(rest.bytes, s.w + w, s.w_step, s.sums + i * s.columns);
        }
      }
  }

  Int8ConvRoutines all_, first_;
  bool has_first_, in_place_ = false;
  Int8ConvFinisher finisher_;
  Int8Band band_;
  std::vector<int64_t> tap_pixels_, taps_, block_taps_, at_zero_;  // block_taps_: of an image in place
  int64_t run_ = 1, bands_ = 1, panels_ = 1, slots_ = 1, pixels_ = 0, values_ = 0, most_rests_ = 0;
  int64_t band_bytes_ = 0, zeros_bytes_ = 0, rests_bytes_ = 0, slot_bytes_ = 0;
};

std::unique_ptr<Kernel> prepare(const KernelRequest& request, std::string& why_not) {
  Int8Conv p;
  if (!read_int8_conv(request, p, why_not)) return nullptr;
  if (request.outputs[0].numel() == 0 || request.inputs[0].numel() == 0) {
    why_not = "empty";
    return nullptr;
  }
  for (Vnni form : {Vnni::AVX512, Vnni::AVX2})
    if (!p.depthwise && has_int8_conv_vnni(form)) return int8_conv_kernel(p, nullptr, int8_conv_vnni(form));
  const Int8ConvRoutines bytes = int8_conv_avx2_bytes();
  const bool fits = has_int8_conv_avx2_bytes() && !p.depthwise && !p.is_signed && p.images.block_in > 1;
  return int8_conv_kernel(p, fits ? &bytes : nullptr, int8_conv_routines());
}

const RegisterKernel entry({"_conv2d_int8", "simd", DeviceType::CPU, 10, &prepare});
const RegisterKernel both({"_conv2d_int8_both", "simd", DeviceType::CPU, 10, &prepare});

}  // namespace

std::unique_ptr<Kernel> int8_conv_kernel(const Int8Conv& conv, const Int8ConvRoutines* first,
                                         const Int8ConvRoutines& all) {
  return std::make_unique<Int8ConvKernel>(conv, first, all);
}

}  // namespace hw
