// _max_pool2d_blocked: 8 channels at a time.
#include <algorithm>
#include <cstring>
#include <limits>

#include "base/thread_team.h"
#include "kernels/kernel.h"

namespace hw {
namespace {

using Lanes = float __attribute__((vector_size(32)));

struct Axis {
  int64_t in, out, kernel, stride, padding, dilation;
  /// The points of a window that lie in the image: first, and one past the last.
  void window(int64_t o, int64_t& first, int64_t& last) const {
    const int64_t start = o * stride - padding;
    first = start < 0 ? (-start + dilation - 1) / dilation : 0;
    last = std::min(kernel, (in - start + dilation - 1) / dilation);
  }
  int64_t at(int64_t o, int64_t point) const { return o * stride - padding + point * dilation; }
};

class BlockedMaxPool final : public Kernel {
 public:
  BlockedMaxPool(const TensorSpec& x, const TensorSpec& y, const Attrs& attrs)
      : planes_(x.shape[0] * x.shape[1]), block_(x.shape[4]) {
    for (size_t a = 0; a < 2; ++a) {
      const auto of = [&](size_t attr) {
        const Dims& values = attrs[attr].ints();
        return values[values.size() == 1 ? 0 : a];
      };
      axis_[a] = {x.shape[a + 2], y.shape[a + 2], of(0), of(1), of(2), of(3)};
    }
  }

  void run(const KernelArgs& args) const override {
    const auto* x = static_cast<const float*>(args.inputs[0]);
    auto* y = static_cast<float*>(args.outputs[0]);
    const int64_t row = axis_[1].out * axis_[1].kernel * block_;
    parallel_for(planes_ * axis_[0].out, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, row)),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i)
                     output_row(x + i / axis_[0].out * axis_[0].in * axis_[1].in * block_, i % axis_[0].out,
                                y + i * axis_[1].out * block_);
                 });
  }

 private:
  void output_row(const float* plane, int64_t row, float* y) const {
    int64_t top, bottom;
    axis_[0].window(row, top, bottom);
    for (int64_t o = 0; o < axis_[1].out; ++o, y += block_) {
      int64_t left, right;
      axis_[1].window(o, left, right);
      const auto at = [&](int64_t k, int64_t l) {
        return plane + (axis_[0].at(row, k) * axis_[1].in + axis_[1].at(o, l)) * block_;
      };
      for (int64_t c = 0; c < block_; c += 8) {
        Lanes best = Lanes{} - std::numeric_limits<float>::infinity();
        for (int64_t k = top; k < bottom; ++k)
          for (int64_t l = left; l < right; ++l) {
            Lanes x;
            std::memcpy(&x, at(k, l) + c, sizeof(x));
            best = x > best ? x : best;
            best = x != x ? x : best;  // NaN wins, as in max_pool2d
          }
        std::memcpy(y + c, &best, sizeof(best));
      }
    }
  }

  int64_t planes_, block_;
  Axis axis_[2];
};

std::unique_ptr<Kernel> prepare(const KernelRequest& request, std::string& why_not) {
  const TensorSpec &x = request.inputs[0], &y = request.outputs[0];
  if (x.dtype != DType::F32 || !x.contiguous() || !y.contiguous() || x.shape[4] % 8 != 0) {
    why_not = "serves contiguous f32 in blocks of 8";
    return nullptr;
  }
  return std::make_unique<BlockedMaxPool>(x, y, request.attrs);
}

const RegisterKernel entry({"_max_pool2d_blocked", "reference", DeviceType::CPU, kReferencePriority, &prepare});

}  // namespace
}  // namespace hw
