// conv2d and its internal forms on the Winograd routines: how tiles and channels are cut for the caches and the thread team.
#include <algorithm>

#include "backends/cpu/winograd/winograd.h"
#include "base/thread_team.h"

namespace hw {
namespace {

// Of a range's transformed inputs and results. More tiles than fit L2 still pay until each line of weights, which may come from
// memory, serves as many tiles as it takes cycles to come.
constexpr int64_t kInputBytes = 256 * 1024, kOutputBytes = 384 * 1024, kLeastTiles = 28, kMostTiles = 64;

/// Runs body(slot, begin, end) over [0, count) in one piece for each of at most `slots` threads.
template <class F>
void in_slots(int64_t count, int64_t slots, F&& body) {
  slots = std::max<int64_t>(1, std::min(slots, count));
  parallel_for(slots, 1, [&](int64_t begin, int64_t end) {
    for (int64_t slot = begin; slot < end; ++slot) body(slot, count * slot / slots, count * (slot + 1) / slots);
  });
}

/// A convolution whose weights are packed.
class WinogradRun {
 public:
  explicit WinogradRun(const WinogradSizes& sizes, double low = -INFINITY, double high = INFINITY)
      : routines_(winograd_routines()) {
    plan_.sizes = sizes, plan_.low = static_cast<float>(low), plan_.high = static_cast<float>(high);
    const int64_t flops = 2 * sizes.products() * sizes.tiles() * sizes.in_channels * sizes.out_channels;
    slots_ = std::clamp<int64_t>(flops / (256 * 1024), 1, num_threads());
    const int64_t tile_bytes = sizes.products() * sizes.in_blocks() * kWinogradPanel * 4;
    const int64_t most = std::clamp(kInputBytes / std::max<int64_t>(1, tile_bytes), kLeastTiles, kMostTiles);
    ranges_ = std::max<int64_t>(1, (sizes.tiles() + most - 1) / most);
    // A thread with tiles of its own reads all weights; threads that share tiles read a part of them each.
    shared_ = slots_ > 1 && (ranges_ < 2 * slots_ || sizes.packed_size() * 4 > 4 * 1024 * 1024);
    if (!shared_) ranges_ = (ranges_ + slots_ - 1) / slots_ * slots_;
    ranges_ = std::min(ranges_, std::max<int64_t>(1, sizes.tiles()));
    plan_.tiles_each = std::max<int64_t>(1, (sizes.tiles() + ranges_ - 1) / ranges_);
    const int64_t panel_bytes = sizes.products() * plan_.tiles_each * kWinogradPanel * 4;
    plan_.panels_each = std::clamp<int64_t>(kOutputBytes / panel_bytes, 1, std::max<int64_t>(1, sizes.panels()));
  }

  size_t scratch_bytes() const { return static_cast<size_t>(slots_ * slot_floats() + input_floats()) * sizeof(float); }

  void run(const float* x, const float* packed, const WinogradAfter& after, float* y, float* scratch) const {
    if (plan_.sizes.tiles() == 0) return;
    if (shared_) return run_shared(x, packed, after, y, scratch);
    const WinogradSizes& s = plan_.sizes;
    in_slots(ranges_, slots_, [&](int64_t slot, int64_t begin, int64_t end) {
      const WinogradScratch mine = scratch_of(scratch, slot);
      for (int64_t i = begin; i < end; ++i) {
        routines_.transform(plan_, x, range(i), 0, s.in_blocks(), mine);
        routines_.multiply(plan_, packed, after, y, range(i), 0, s.panels(), mine);
      }
    });
  }

 private:
  static int64_t lines(int64_t floats) { return (floats + 15) / 16 * 16; }
  int64_t input_floats() const { return shared_ ? lines(plan_.input_floats()) : 0; }
  int64_t slot_floats() const {
    return (shared_ ? 0 : lines(plan_.input_floats())) + lines(plan_.output_floats()) + 2 * lines(plan_.strip_floats());
  }
  WinogradRange range(int64_t i) const {
    const int64_t tiles = plan_.sizes.tiles();
    return {tiles * i / ranges_, tiles * (i + 1) / ranges_};
  }
  WinogradScratch scratch_of(float* base, int64_t slot) const {
    WinogradScratch s;
    float* own = base + input_floats() + slot * slot_floats();
    s.input = shared_ ? base : own;
    s.output = shared_ ? own : own + lines(plan_.input_floats());
    s.strip = s.output + lines(plan_.output_floats());
    return s;
  }

  /// All threads on one range: first its input channels, then its output channels.
  void run_shared(const float* x, const float* packed, const WinogradAfter& after, float* y, float* scratch) const {
    const WinogradSizes& s = plan_.sizes;
    for (int64_t i = 0; i < ranges_; ++i) {
      in_slots(s.in_blocks(), slots_, [&](int64_t slot, int64_t begin, int64_t end) {
        routines_.transform(plan_, x, range(i), begin, end, scratch_of(scratch, slot));
      });
      in_slots(s.panels(), slots_, [&](int64_t slot, int64_t begin, int64_t end) {
        routines_.multiply(plan_, packed, after, y, range(i), begin, end, scratch_of(scratch, slot));
      });
    }
  }

  WinogradPlan plan_;
  WinogradRoutines routines_;
  int64_t slots_ = 1, ranges_ = 1;
  bool shared_ = false;
};

void pack(const WinogradRoutines& routines, int64_t tile, const WinogradWeights& weights, const void* data,
          float* packed) {
  const int64_t panels = (weights.out_channels + kWinogradPanel - 1) / kWinogradPanel;
  const int64_t each = weights.in_channels * kWinogradPanel;  // weights of one panel
  const int64_t slots = std::clamp<int64_t>(panels * each / 4096, 1, num_threads());
  in_slots(panels, slots, [&](int64_t, int64_t begin, int64_t end) {
    routines.pack(tile, weights, static_cast<const float*>(data), begin, end, packed);
  });
}

class PackWeight final : public Kernel {
 public:
  PackWeight(int64_t tile, const WinogradWeights& weights)
      : tile_(tile), weights_(weights), routines_(winograd_routines()) {}
  void run(const KernelArgs& args) const override {
    pack(routines_, tile_, weights_, args.inputs[0], static_cast<float*>(args.outputs[0]));
  }

 private:
  int64_t tile_;
  WinogradWeights weights_;
  WinogradRoutines routines_;
};

const float* floats(const KernelArgs& args, int i) { return static_cast<const float*>(args.inputs[i]); }

/// A convolution or its gradient for the input, whose weights may change from call to call.
class EagerConv final : public Kernel {
 public:
  EagerConv(const WinogradSizes& sizes, const WinogradWeights& weights, bool has_bias)
      : sizes_(sizes), weights_(weights), has_bias_(has_bias), routines_(winograd_routines()), run_(sizes) {}
  size_t scratch_bytes() const override {
    return static_cast<size_t>(sizes_.packed_size()) * sizeof(float) + run_.scratch_bytes();
  }
  void run(const KernelArgs& args) const override {
    auto* packed = static_cast<float*>(args.scratch);
    pack(routines_, sizes_.tile, weights_, args.inputs[1], packed);
    run_.run(floats(args, 0), packed, {has_bias_ ? floats(args, 2) : nullptr}, static_cast<float*>(args.outputs[0]),
             packed + sizes_.packed_size());
  }

 private:
  WinogradSizes sizes_;
  WinogradWeights weights_;
  bool has_bias_;
  WinogradRoutines routines_;
  WinogradRun run_;
};

/// _conv2d_winograd: the weights come packed.
class PackedConv final : public Kernel {
 public:
  explicit PackedConv(const WinogradRequest& r)
      : has_bias_(r.has_bias), has_residual_(r.has_residual), run_(r.sizes, r.low, r.high) {}
  size_t scratch_bytes() const override { return run_.scratch_bytes(); }
  void run(const KernelArgs& args) const override {
    const WinogradAfter after{has_bias_ ? floats(args, 2) : nullptr, has_residual_ ? floats(args, 3) : nullptr};
    run_.run(floats(args, 0), floats(args, 1), after, static_cast<float*>(args.outputs[0]),
             static_cast<float*>(args.scratch));
  }

 private:
  bool has_bias_, has_residual_;
  WinogradRun run_;
};

std::unique_ptr<Kernel> prepare_pack(const KernelRequest& request, std::string&) {
  WinogradWeights weights;
  const int64_t tile = read_winograd_pack(request, weights);
  return std::make_unique<PackWeight>(tile, weights);
}

std::unique_ptr<Kernel> prepare_packed(const KernelRequest& request, std::string& why_not) {
  WinogradRequest r;
  if (!read_winograd(request, r, why_not)) return nullptr;
  return std::make_unique<PackedConv>(r);
}

/// Tile 2 only: its error is that of a direct convolution, so that training does not change.
std::unique_ptr<Kernel> prepare_eager(const KernelRequest& request, std::string& why_not) {
  ConvRequest r;
  WinogradSizes sizes;
  WinogradWeights weights;
  if (!read_convolution(request, r, why_not) || !winograd_sizes(r, 2, sizes, weights, why_not)) return nullptr;
  if (r.has_bias && (!request.inputs[2].contiguous() || request.inputs[2].numel() != sizes.out_channels)) {
    why_not = "the bias is broadcast";
    return nullptr;
  }
  if (!winograd_pays(sizes)) {
    why_not = "too few channels or pixels to pay for the transforms";
    return nullptr;
  }
  return std::make_unique<EagerConv>(sizes, weights, r.has_bias);
}

const RegisterKernel any({"convolution", "winograd", DeviceType::CPU, 30, &prepare_eager});
const RegisterKernel conv2d({"conv2d", "winograd", DeviceType::CPU, 30, &prepare_eager});
const RegisterKernel input({"convolution_input_grad", "winograd", DeviceType::CPU, 30, &prepare_eager});
const RegisterKernel pack_weight({"_winograd_pack_weight", "winograd", DeviceType::CPU, 10, &prepare_pack});
const RegisterKernel packed_conv({"_conv2d_winograd", "winograd", DeviceType::CPU, 10, &prepare_packed});

}  // namespace
}  // namespace hw
