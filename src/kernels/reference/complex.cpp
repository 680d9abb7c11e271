// complex: two real operands interleaved.
#include "core/visit.h"
#include "kernels/kernel.h"
#include "kernels/loops/each.h"

namespace hw {

namespace {

class Complex final : public Kernel {
 public:
  explicit Complex(const KernelRequest& r) : y_(r.outputs[0]) {
    for (int i = 0; i < 2; ++i) in_[i] = broadcast_strides(r.inputs[i].shape, strides_of(r.inputs[i]), y_.shape);
  }
  void run(const KernelArgs& args) const override {
    auto join = [&]<class T>(Type<T>) {
      const T *re = static_cast<const T*>(args.inputs[0]), *im = static_cast<const T*>(args.inputs[1]);
      auto* y = static_cast<std::complex<T>*>(args.outputs[0]);
      each<3>(y_.shape, {in_[0], in_[1], strides_of(y_)},
              [&](int64_t a, int64_t b, int64_t to) { y[to] = std::complex<T>(re[a], im[b]); });
    };
    if (y_.dtype == DType::C64)
      join(Type<float>{});
    else
      join(Type<double>{});
  }

 private:
  TensorSpec y_;
  Dims in_[2];
};

std::unique_ptr<Kernel> prepare(const KernelRequest& r, std::string&) { return std::make_unique<Complex>(r); }
const RegisterKernel complex({"complex", "reference", DeviceType::CPU, kReferencePriority, &prepare});

}  // namespace
}  // namespace hw
