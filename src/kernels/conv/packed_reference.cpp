// Reference of _conv2d_packed: plain loops over every index, sums in double.
#include "kernels/conv/packed.h"

namespace hw {
namespace {

class PackedReference final : public Kernel {
 public:
  explicit PackedReference(const PackedConvRequest& request) : r_(request), g_(r_.geometry) {}
  void run(const KernelArgs& args) const override {
    for (int64_t n = 0; n < g_.batch; ++n)
      for (int64_t o = 0; o < g_.out_channels; ++o)
        for (int64_t row = 0; row < g_.out[1]; ++row)
          for (int64_t column = 0; column < g_.out[2]; ++column) point(args, n, o, row, column);
  }

 private:
  void point(const KernelArgs& args, int64_t n, int64_t o, int64_t row, int64_t column) const {
    const auto *x = static_cast<const float*>(args.inputs[0]), *w = static_cast<const float*>(args.inputs[1]);
    const auto *bias = static_cast<const float*>(args.inputs[2]), *residual = static_cast<const float*>(args.inputs[3]);
    double sum = r_.has_bias ? static_cast<double>(bias[o]) : 0.0;
    const int64_t first = o / g_.group_out() * g_.group_in();
    for (int64_t k = 0; k < g_.kernel[1]; ++k)
      for (int64_t l = 0; l < g_.kernel[2]; ++l) {
        const int64_t i = row * g_.stride[1] + k * g_.dilation[1] - g_.padding[1],
                      j = column * g_.stride[2] + l * g_.dilation[2] - g_.padding[2];
        if (i < 0 || i >= g_.in[1] || j < 0 || j >= g_.in[2]) continue;
        for (int64_t c = 0; c < g_.group_in(); ++c)
          sum += static_cast<double>(x[r_.input_at(n, first + c, i, j)]) *
                 static_cast<double>(w[r_.weight_at(o, c, k, l)]);
      }
    const int64_t at = r_.output_at(n, o, row, column);
    if (r_.has_residual) sum += static_cast<double>(residual[at]);
    static_cast<float*>(args.outputs[0])[at] = static_cast<float>(activate(r_.activation, sum, r_.low, r_.high));
  }

  PackedConvRequest r_;
  ConvGeometry g_;
};

std::unique_ptr<Kernel> prepare(const KernelRequest& request, std::string& why_not) {
  PackedConvRequest r;
  if (!read_packed_conv(request, r, why_not)) return nullptr;
  return std::make_unique<PackedReference>(r);
}

const RegisterKernel entry({"_conv2d_packed", "reference", DeviceType::CPU, kReferencePriority, &prepare});

}  // namespace
}  // namespace hw
