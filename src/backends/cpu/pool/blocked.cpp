// _max_pool2d_blocked: the channels of a block in vectors, rows of output on the thread team.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/pool/blocked.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "backends/cpu/gemm/targets.h"

#include <algorithm>
#include <cmath>

#include "base/thread_team.h"
#include "kernels/pool/blocked.h"

HWY_BEFORE_NAMESPACE();
namespace hw::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

template <class D>
void pool_row_by(const BlockedPool& p, const float* plane, int64_t row, float* y) {
  const D d;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(d));
  int64_t top, bottom;
  p.axis[0].window(row, top, bottom);
  for (int64_t o = 0; o < p.axis[1].out; ++o, y += p.block) {
    int64_t left, right;
    p.axis[1].window(o, left, right);
    for (int64_t c = 0; c < p.block; c += kLanes) {
      auto best = hn::Set(d, -INFINITY);
      for (int64_t k = top; k < bottom; ++k) {
        const float* line = plane + p.axis[0].at(row, k) * p.axis[1].in * p.block + c;
        for (int64_t l = left; l < right; ++l) {
          const auto v = hn::LoadU(d, line + p.axis[1].at(o, l) * p.block);
          best = hn::IfThenElse(hn::Or(hn::Gt(v, best), hn::IsNaN(v)), v, best);  // NaN wins, and stays
        }
      }
      hn::StoreU(best, d, y + c);
    }
  }
}

void pool_row(const BlockedPool& p, const float* plane, int64_t row, float* y) {
  if (p.block % 16 == 0) return pool_row_by<hn::CappedTag<float, 16>>(p, plane, row, y);
  pool_row_by<hn::CappedTag<float, 8>>(p, plane, row, y);
}

using PoolRow = void (*)(const BlockedPool& p, const float* plane, int64_t row, float* y);
PoolRow pool_routine() { return pool_row; }

}  // namespace
PoolRow blocked_pool_routine() { return pool_routine(); }
}  // namespace hw::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hw {
namespace {

class BlockedMaxPool final : public Kernel {
 public:
  explicit BlockedMaxPool(const BlockedPool& pool) : p_(pool), row_(HW_BEST_TARGET(blocked_pool_routine)()) {}
  void run(const KernelArgs& args) const override {
    const auto* x = static_cast<const float*>(args.inputs[0]);
    auto* y = static_cast<float*>(args.outputs[0]);
    const int64_t rows = p_.axis[0].out, row_size = p_.axis[1].out * p_.block;
    const int64_t work = std::max<int64_t>(1, row_size * p_.axis[0].kernel * p_.axis[1].kernel);
    parallel_for(p_.planes * rows, std::max<int64_t>(1, 65536 / work), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) row_(p_, x + i / rows * p_.in_size(), i % rows, y + i * row_size);
    });
  }

 private:
  BlockedPool p_;
  void (*row_)(const BlockedPool& p, const float* plane, int64_t row, float* y);
};

std::unique_ptr<Kernel> prepare(const KernelRequest& request, std::string& why_not) {
  BlockedPool pool;
  if (!read_blocked_pool(request, pool, why_not)) return nullptr;
  if (pool.block % 8 != 0) {
    why_not = "serves blocks of 8";
    return nullptr;
  }
  return std::make_unique<BlockedMaxPool>(pool);
}

const RegisterKernel entry({"_max_pool2d_blocked", "simd", DeviceType::CPU, 10, &prepare});

}  // namespace
}  // namespace hw
#endif
