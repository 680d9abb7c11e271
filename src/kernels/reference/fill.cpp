// Constants (full), and memory left as it is (empty, empty_strided).
#include <cstring>

#include "core/tensor.h"
#include "kernels/kernel.h"
#include "kernels/loops/each.h"

namespace hw {

namespace {

class Fill final : public Kernel {
 public:
  Fill(const TensorSpec& y, const Scalar& value) : y_(y), strides_(strides_of(y)) {
    store_scalar(value_, y.dtype, value);
  }
  void run(const KernelArgs& args) const override {
    const size_t size = static_cast<size_t>(dtype_size(y_.dtype));
    char* y = static_cast<char*>(args.outputs[0]);
    each<1>(y_.shape, {strides_}, [&](int64_t at) { std::memcpy(y + static_cast<size_t>(at) * size, value_, size); });
  }

 private:
  TensorSpec y_;
  Dims strides_;
  char value_[16] = {};
};

class Nothing final : public Kernel {
 public:
  void run(const KernelArgs&) const override {}
};

std::unique_ptr<Kernel> prepare_full(const KernelRequest& r, std::string&) {
  return std::make_unique<Fill>(r.outputs[0], r.attrs[1].scalar());
}
std::unique_ptr<Kernel> prepare_zero(const KernelRequest& r, std::string&) {
  return std::make_unique<Fill>(r.outputs[0], Scalar(0));
}
std::unique_ptr<Kernel> prepare_nothing(const KernelRequest&, std::string&) { return std::make_unique<Nothing>(); }

const RegisterKernel full({"full", "reference", DeviceType::CPU, kReferencePriority, &prepare_full});
const RegisterKernel zero({"zero_", "reference", DeviceType::CPU, kReferencePriority, &prepare_zero});
const RegisterKernel empty({"empty", "reference", DeviceType::CPU, kReferencePriority, &prepare_nothing});
const RegisterKernel empty_strided({"empty_strided", "reference", DeviceType::CPU, kReferencePriority,
                                    &prepare_nothing});

}  // namespace
}  // namespace hw
