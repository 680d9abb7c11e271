// mm, bmm, addmm, baddbmm and linear on the own SIMD products.
#include "backends/cpu/gemm/gemm.h"

namespace hw {
namespace {

class GemmKernel final : public Kernel {
 public:
  GemmKernel(const ProductRequest& r, Gemm gemm, const TensorSpec& x) : r_(r), gemm_(std::move(gemm)), x_(x) {
    if (r_.gather_a) gathered_ = (static_cast<size_t>(x_.numel() * dtype_size(x_.dtype)) + 63) / 64 * 64;
  }
  size_t scratch_bytes() const override { return gathered_ + gemm_.scratch_bytes(); }
  void run(const KernelArgs& args) const override {
    const void* a = args.inputs[r_.a];
    auto* scratch = static_cast<char*>(args.scratch);
    if (r_.gather_a) {
      gather(a, x_, scratch);
      a = scratch;
    }
    const void* input = r_.product.has_input ? args.inputs[r_.input] : nullptr;
    gemm_.run(a, args.inputs[r_.b], input, args.outputs[0], scratch + gathered_);
  }

 private:
  ProductRequest r_;
  Gemm gemm_;
  TensorSpec x_;
  size_t gathered_ = 0;
};

std::unique_ptr<Kernel> prepare(const KernelRequest& request, std::string& why_not) {
  ProductRequest r;
  Gemm gemm;
  if (!read_product(request, r, why_not) || !gemm.prepare(r.product, why_not)) return nullptr;
  return std::make_unique<GemmKernel>(r, std::move(gemm), request.inputs[r.a]);
}

const RegisterKernel mm({"mm", "simd", DeviceType::CPU, 10, &prepare});
const RegisterKernel bmm({"bmm", "simd", DeviceType::CPU, 10, &prepare});
const RegisterKernel addmm({"addmm", "simd", DeviceType::CPU, 10, &prepare});
const RegisterKernel baddbmm({"baddbmm", "simd", DeviceType::CPU, 10, &prepare});
const RegisterKernel linear({"linear", "simd", DeviceType::CPU, 10, &prepare});

}  // namespace
}  // namespace hw
