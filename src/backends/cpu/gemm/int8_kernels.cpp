// _linear_int8: how rows and columns are cut for the caches and the thread team.
#include <algorithm>

#include "backends/cpu/gemm/int8.h"
#include "backends/cpu/gemm/slots.h"
#include "base/text.h"

namespace hw {
namespace {

constexpr int64_t kPackedBytes = 192 << 10;  // of x that are packed at a time: a part of L2
constexpr int64_t kWorkPerThread = 1 << 19;  // multiply-adds below which a fork costs more than it saves

class LinearInt8 final : public Kernel {
 public:
  explicit LinearInt8(const Int8Linear& p) : p_(p), routines_(int8_routines()) {
    const int64_t side = routines_.rows, row_bytes = std::max<int64_t>(1, p.pairs()) * 4;
    const int64_t all = (p.m + side - 1) / side * side;
    rows_ = std::clamp<int64_t>(kPackedBytes / row_bytes / side * side, side, std::max(side, all));
    slots_ = std::clamp<int64_t>(p.m * p.n * p.k / kWorkPerThread, 1, num_threads());
  }
  size_t scratch_bytes() const override { return static_cast<size_t>(rows_ * p_.pairs() * 4 + 64); }

  void run(const KernelArgs& args) const override {
    Int8Block b{};
    b.pairs = p_.pairs(), b.weight = static_cast<const int8_t*>(args.inputs[1]), b.width = p_.width;
    b.finish = int8_finish(p_, args), b.relu = p_.relu, b.out = p_.out, b.y_row = p_.n;
    auto* packed = static_cast<int16_t*>(args.scratch);
    b.x = packed;
    for (int64_t i = 0; i < p_.m; i += rows_) {
      b.m = std::min(rows_, p_.m - i);
      b.y = static_cast<char*>(args.outputs[0]) + i * p_.n * dtype_size(p_.out);
      const char* x = static_cast<const char*>(args.inputs[0]) + i * p_.k;
      const int64_t side = routines_.rows;
      in_slots((b.m + side - 1) / side, slots_, [&](int64_t begin, int64_t end) {
        routines_.pack_rows(x, p_.is_signed, b.m, p_.k, begin * side, std::min(b.m, end * side), packed);
      });
      in_slots(p_.panels(), slots_, [&](int64_t begin, int64_t end) {
        Int8Block part = b;
        part.begin = begin * p_.width, part.end = std::min(p_.n, end * p_.width);
        routines_.product(part);
      });
    }
  }

 private:
  Int8Linear p_;
  Int8Routines routines_;
  int64_t rows_ = 0, slots_ = 1;
};

std::unique_ptr<Kernel> prepare(const KernelRequest& request, std::string& why_not) {
  Int8Linear p;
  if (!read_int8_linear(request, p, why_not)) return nullptr;
  if (p.width != int8_routines().columns) {
    why_not = text("tiles have ", int8_routines().columns, " columns, the weight is packed by ", p.width);
    return nullptr;
  }
  return std::make_unique<LinearInt8>(p);
}

const RegisterKernel linear({"_linear_int8", "simd", DeviceType::CPU, 10, &prepare});

}  // namespace
}  // namespace hw
