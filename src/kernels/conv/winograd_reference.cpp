// Reference of _winograd_pack_weight and _conv2d_winograd: the formula as it stands, in double.
#include <algorithm>
#include <cmath>

#include "kernels/conv/winograd.h"

namespace hw {
namespace {

class PackReference final : public Kernel {
 public:
  PackReference(int64_t tile, const WinogradWeights& weights) : tile_(tile), weights_(weights) {}
  void run(const KernelArgs& args) const override {
    WinogradSizes s;
    s.tile = tile_, s.in_channels = weights_.in_channels, s.out_channels = weights_.out_channels;
    const auto* w = static_cast<const float*>(args.inputs[0]);
    auto* packed = static_cast<float*>(args.outputs[0]);
    std::fill_n(packed, s.packed_size(), 0.0f);
    for (int64_t o = 0; o < s.out_channels; ++o)
      for (int64_t c = 0; c < s.in_channels; ++c)
        one(w + o * weights_.out_step + c * weights_.in_step, packed + s.packed_index(o, c),
            s.packed_k() * kWinogradPanel);
  }

 private:
  void one(const float* w, float* to, int64_t step) const {
    const WinogradMatrices m = winograd_matrices(tile_, weights_.stride);
    const auto n = static_cast<int>(tile_) + 2;
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) {
        double sum = 0;
        for (int r = 0; r < 3; ++r)
          for (int c = 0; c < 3; ++c)
            sum += m.weight[i][r] * m.weight[j][c] *
                   static_cast<double>(w[r * weights_.row_step + c * weights_.column_step]);
        to[(i * n + j) * step] = static_cast<float>(sum);
      }
  }

  int64_t tile_;
  WinogradWeights weights_;
};

class ConvReference final : public Kernel {
 public:
  explicit ConvReference(const WinogradRequest& request) : r_(request), s_(request.sizes) {}
  void run(const KernelArgs& args) const override {
    const WinogradMatrices m = winograd_matrices(s_.tile, s_.stride);
    for (int64_t image = 0; image < s_.batch; ++image)
      for (int64_t o = 0; o < s_.out_channels; ++o)
        for (int64_t y = 0; y < s_.out_h; y += s_.tile)
          for (int64_t x = 0; x < s_.out_w; x += s_.tile) tile(args, m, image, o, y, x);
  }

 private:
  int64_t at(int64_t channels, int64_t height, int64_t width, int64_t image, int64_t c, int64_t y, int64_t x) const {
    const int64_t blocks = (channels + s_.block - 1) / s_.block;
    return (((image * blocks + c / s_.block) * height + y) * width + x) * s_.block + c % s_.block;
  }

  void tile(const KernelArgs& args, const WinogradMatrices& m, int64_t image, int64_t o, int64_t y, int64_t x) const {
    const auto *in = static_cast<const float*>(args.inputs[0]), *packed = static_cast<const float*>(args.inputs[1]);
    const auto* bias = static_cast<const float*>(r_.has_bias ? args.inputs[2] : nullptr);
    const int last = static_cast<int>(s_.tile) + 1;
    double sums[9][9] = {};
    for (int64_t c = 0; c < s_.in_channels; ++c)
      for (int k = 0; k < m.window; ++k)
        for (int l = 0; l < m.window; ++l) {
          const int64_t row = y * s_.stride - s_.pad_h + k, column = x * s_.stride - s_.pad_w + l;
          if (row < 0 || row >= s_.in_h || column < 0 || column >= s_.in_w) continue;
          const double value = in[at(s_.in_channels, s_.in_h, s_.in_w, image, c, row, column)];
          for (int i = 0; i < m.products; ++i)
            for (int j = 0; j < m.products; ++j) {
              const int64_t weight = std::min(i, last) * (last + 1) + std::min(j, last);
              sums[i][j] +=
                  m.input[i][k] * m.input[j][l] * value *
                  static_cast<double>(packed[s_.packed_index(o, c) + weight * s_.packed_k() * kWinogradPanel]);
            }
        }
    auto* out = static_cast<float*>(args.outputs[0]);
    for (int64_t k = 0; k < std::min(s_.tile, s_.out_h - y); ++k)
      for (int64_t l = 0; l < std::min(s_.tile, s_.out_w - x); ++l) {
        double sum = bias ? static_cast<double>(bias[o]) : 0.0;
        for (int i = 0; i < m.products; ++i)
          for (int j = 0; j < m.products; ++j) sum += m.output[k][i] * m.output[l][j] * sums[i][j];
        const int64_t to = at(s_.out_channels, s_.out_h, s_.out_w, image, o, y + k, x + l);
        if (r_.has_residual) sum += static_cast<double>(static_cast<const float*>(args.inputs[3])[to]);
        out[to] = static_cast<float>(sum < r_.low ? r_.low : sum > r_.high ? r_.high : sum);
      }
  }

  WinogradRequest r_;
  WinogradSizes s_;
};

std::unique_ptr<Kernel> prepare_pack(const KernelRequest& request, std::string&) {
  WinogradWeights weights;
  const int64_t tile = read_winograd_pack(request, weights);
  return std::make_unique<PackReference>(tile, weights);
}

std::unique_ptr<Kernel> prepare(const KernelRequest& request, std::string& why_not) {
  WinogradRequest r;
  if (!read_winograd(request, r, why_not)) return nullptr;
  return std::make_unique<ConvReference>(r);
}

const RegisterKernel pack({"_winograd_pack_weight", "reference", DeviceType::CPU, kReferencePriority, &prepare_pack});
const RegisterKernel conv({"_conv2d_winograd", "reference", DeviceType::CPU, kReferencePriority, &prepare});

}  // namespace
}  // namespace hw
