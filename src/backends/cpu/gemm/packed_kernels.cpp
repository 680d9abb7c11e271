// _pack_linear_weight and _linear_packed: how rows and columns are cut for the caches and the thread team.
#include <algorithm>

#include "backends/cpu/gemm/packed.h"
#include "backends/cpu/gemm/slots.h"
#include "base/text.h"
#include "kernels/linalg/product.h"

namespace hw {
namespace {

constexpr int64_t kMostRows = 384;           // of x that are packed at a time
constexpr int64_t kWorkPerThread = 1 << 18;  // multiply-adds below which a fork costs more than it saves

size_t lines(int64_t floats) { return static_cast<size_t>((floats + 15) / 16 * 16) * sizeof(float); }

class PackWeight final : public Kernel {
 public:
  PackWeight(const TensorSpec& w, int64_t width)
      : row_(w.strides[0]), column_(w.strides[1]), routines_(packed_routines()) {
    p_.n = w.shape[0], p_.k = w.shape[1], p_.width = width;
  }
  void run(const KernelArgs& args) const override {
    const auto* w = static_cast<const float*>(args.inputs[0]);
    auto* packed = static_cast<float*>(args.outputs[0]);
    in_slots(p_.panels(), std::clamp<int64_t>(p_.n * p_.k / 32768, 1, num_threads()), [&](int64_t begin, int64_t end) {
      const int64_t first = begin * p_.width, rows = std::min(p_.n, end * p_.width) - first;
      routines_.pack_weight(w + first * row_, row_, column_, rows, p_.k, p_.width, packed + first * p_.k);
    });
  }

 private:
  PackedLinear p_;
  int64_t row_, column_;
  PackedRoutines routines_;
};

class LinearPacked final : public Kernel {
 public:
  LinearPacked(const PackedLinear& p, const KernelRequest& request)
      : p_(p), x_(request.inputs[0]), routines_(packed_routines()) {
    if (p_.has_residual) residual_ = request.inputs[3];
    slots_ = std::clamp<int64_t>(p_.m * p_.n * p_.k / kWorkPerThread, 1, num_threads());
    const int64_t side = routines_.rows;
    rows_ = std::min(kMostRows / side * side, (p_.m + side - 1) / side * side);
  }
  size_t scratch_bytes() const override {
    return packed_bytes() + (p_.gather_x ? lines(p_.m * p_.k) : 0) + (p_.gather_residual ? lines(p_.m * p_.n) : 0);
  }
  void run(const KernelArgs& args) const override {
    auto* scratch = static_cast<char*>(args.scratch) + packed_bytes();
    PackedBlock b;
    b.x = static_cast<const float*>(args.inputs[0]), b.x_row = p_.x_row, b.k = p_.k, b.width = p_.width;
    if (p_.gather_x) {
      gather(args.inputs[0], x_, scratch);
      b.x = reinterpret_cast<const float*>(scratch);
      scratch += lines(p_.m * p_.k);
    }
    b.weight = static_cast<const float*>(args.inputs[1]);
    b.bias = p_.has_bias ? static_cast<const float*>(args.inputs[2]) : nullptr;
    b.residual = p_.has_residual ? static_cast<const float*>(args.inputs[3]) : nullptr,
    b.residual_row = p_.residual_row;
    if (p_.gather_residual) {
      gather(args.inputs[3], residual_, scratch);
      b.residual = reinterpret_cast<const float*>(scratch);
    }
    b.y = static_cast<float*>(args.outputs[0]), b.y_row = p_.n, b.activation = p_.activation;
    if (p_.m <= kFewRows) {
      b.m = p_.m;
      return over_columns(b, routines_.few_rows);
    }
    for (int64_t i = 0; i < p_.m; i += rows_) some_rows(b, i, static_cast<float*>(args.scratch));
  }

 private:
  size_t packed_bytes() const { return p_.m <= kFewRows ? 0 : lines(rows_ * p_.k); }

  void some_rows(PackedBlock b, int64_t i, float* packed) const {
    const int64_t side = routines_.rows;
    b.m = std::min(rows_, p_.m - i);
    b.x += i * b.x_row, b.y += i * b.y_row;
    if (b.residual) b.residual += i * b.residual_row;
    in_slots((b.m + side - 1) / side, slots_, [&](int64_t begin, int64_t end) {
      routines_.pack_rows(b.x, b.x_row, b.m, b.k, begin * side, std::min(b.m, end * side), packed);
    });
    b.x = packed;
    over_columns(b, routines_.product);
  }

  void over_columns(const PackedBlock& all, void (*routine)(const PackedBlock&)) const {
    in_slots(p_.panels(), slots_, [&](int64_t begin, int64_t end) {
      PackedBlock b = all;
      b.begin = begin * p_.width, b.end = std::min(p_.n, end * p_.width);
      routine(b);
    });
  }

  PackedLinear p_;
  TensorSpec x_, residual_;
  PackedRoutines routines_;
  int64_t slots_ = 1, rows_ = 0;
};

std::unique_ptr<Kernel> prepare_pack(const KernelRequest& request, std::string&) {
  return std::make_unique<PackWeight>(request.inputs[0], request.attrs[0].i64());
}

std::unique_ptr<Kernel> prepare_linear(const KernelRequest& request, std::string& why_not) {
  PackedLinear p;
  if (!read_packed_linear(request, p, why_not)) return nullptr;
  if (p.width % packed_routines().columns != 0) {
    why_not = text("tiles have ", packed_routines().columns, " columns, the weight is packed by ", p.width);
    return nullptr;
  }
  return std::make_unique<LinearPacked>(p, request);
}

const RegisterKernel pack({"_pack_linear_weight", "simd", DeviceType::CPU, 10, &prepare_pack});
const RegisterKernel linear({"_linear_packed", "simd", DeviceType::CPU, 10, &prepare_linear});

}  // namespace
}  // namespace hw
