// full, zero_ and fill_: one value written to contiguous memory; the rest is left to the reference kernel.
#include <cstring>

#include "base/thread_team.h"
#include "core/tensor.h"
#include "core/visit.h"
#include "kernels/kernel.h"
#include "kernels/loops/convert.h"

namespace hw {

namespace {

class Fill final : public Kernel {
 public:
  /// The value, or where `from` is given, a 0-d input of that dtype.
  Fill(const TensorSpec& y, const Scalar& value, DType from = DType::None)
      : count_(y.numel()),
        bytes_(dtype_size(y.dtype)),
        convert_(from == DType::None ? nullptr : find_convert(from, y.dtype)) {
    store_scalar(value_, y.dtype, value);
  }
  void run(const KernelArgs& args) const override {
    if (count_ == 0) return;
    alignas(16) char value[16];
    std::memcpy(value, value_, 16);
    if (convert_) convert_(args.inputs[1], 1, value, 1, 1);
    bool zero = true;
    for (int64_t i = 0; i < bytes_; ++i) zero &= value[i] == 0;
    char* y = static_cast<char*>(args.outputs[0]);
    auto piece = [&](int64_t begin, int64_t end) {
      if (zero || bytes_ == 1) {
        std::memset(y + begin * bytes_, value[0], static_cast<size_t>((end - begin) * bytes_));
        return;
      }
      visit_size(bytes_, [&]<class T>(Type<T>) {
        T v;
        std::memcpy(&v, value, sizeof v);
        T* to = static_cast<T*>(static_cast<void*>(y));
        for (int64_t i = begin; i < end; ++i) to[i] = v;
      });
    };
    if (count_ * bytes_ <= kPiece) return piece(0, count_);
    parallel_for(count_, kPiece / bytes_, piece);
  }

 private:
  static constexpr int64_t kPiece = 1 << 18;  // bytes for a thread
  int64_t count_, bytes_;
  ConvertFn convert_;
  alignas(16) char value_[16] = {};
};

std::unique_ptr<Kernel> prepare(const KernelRequest& r, std::string& why_not) {
  if (!r.outputs[0].contiguous()) {
    why_not = "needs contiguous output";
    return nullptr;
  }
  if (r.op == "fill_") return std::make_unique<Fill>(r.outputs[0], Scalar(0), r.inputs[1].dtype);
  return std::make_unique<Fill>(r.outputs[0], r.op == "full" ? r.attrs[1].scalar() : Scalar(0));
}

const RegisterKernel full({"full", "cpu", DeviceType::CPU, 10, &prepare});
const RegisterKernel zero({"zero_", "cpu", DeviceType::CPU, 10, &prepare});
const RegisterKernel fill({"fill_", "cpu", DeviceType::CPU, 10, &prepare});

}  // namespace
}  // namespace hw
