// The reference of _max_pool2d_blocked: plain loops.
#include <limits>

#include "kernels/pool/blocked.h"

namespace hw {

namespace {

class Reference final : public Kernel {
 public:
  explicit Reference(const BlockedPool& pool) : p_(pool) {}
  void run(const KernelArgs& args) const override {
    const auto* x = static_cast<const float*>(args.inputs[0]);
    auto* y = static_cast<float*>(args.outputs[0]);
    for (int64_t plane = 0; plane < p_.planes; ++plane, x += p_.in_size())
      for (int64_t row = 0; row < p_.axis[0].out; ++row)
        for (int64_t column = 0; column < p_.axis[1].out; ++column)
          for (int64_t c = 0; c < p_.block; ++c) *y++ = largest(x + c, row, column);
  }

 private:
  /// NaN wins, as in max_pool2d.
  float largest(const float* x, int64_t row, int64_t column) const {
    float best = -std::numeric_limits<float>::infinity();
    int64_t top, bottom, left, right;
    p_.axis[0].window(row, top, bottom);
    p_.axis[1].window(column, left, right);
    for (int64_t k = top; k < bottom; ++k)
      for (int64_t l = left; l < right; ++l) {
        const float v = x[(p_.axis[0].at(row, k) * p_.axis[1].in + p_.axis[1].at(column, l)) * p_.block];
        if (v > best || v != v) best = v;
      }
    return best;
  }

  BlockedPool p_;
};

std::unique_ptr<Kernel> prepare(const KernelRequest& request, std::string& why_not) {
  BlockedPool pool;
  if (!read_blocked_pool(request, pool, why_not)) return nullptr;
  return std::make_unique<Reference>(pool);
}

const RegisterKernel entry({"_max_pool2d_blocked", "reference", DeviceType::CPU, kReferencePriority, &prepare});

}  // namespace
}  // namespace hw
