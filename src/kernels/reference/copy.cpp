// Plain copies and conversions (clone, cast, copy_): one element at a time.
#include "kernels/kernel.h"
#include "kernels/loops/convert.h"

namespace hw {

namespace {

class ReferenceCopy final : public Kernel {
 public:
  ReferenceCopy(const TensorSpec& from, const TensorSpec& to, size_t input)
      : shape_(to.shape),
        from_strides_(broadcast_strides(from.shape, from.strides, to.shape)),
        to_strides_(to.strides),
        from_size_(dtype_size(from.dtype)),
        to_size_(dtype_size(to.dtype)),
        count_(numel(to.shape)),
        input_(input),
        convert_(find_convert(from.dtype, to.dtype)) {}

  void run(const KernelArgs& args) const override {
    int64_t index[kMaxDims] = {};
    for (int64_t k = 0; k < count_; ++k) {
      int64_t from = 0, to = 0;
      for (size_t a = 0; a < shape_.size(); ++a) {
        from += index[a] * from_strides_[a];
        to += index[a] * to_strides_[a];
      }
      convert_(static_cast<const char*>(args.inputs[input_]) + from * from_size_, 1,
               static_cast<char*>(args.outputs[0]) + to * to_size_, 1, 1);
      for (size_t a = shape_.size(); a-- > 0;) {
        if (++index[a] < shape_[a]) break;
        index[a] = 0;
      }
    }
  }

 private:
  Dims shape_, from_strides_, to_strides_;
  int64_t from_size_, to_size_, count_;
  size_t input_;
  ConvertFn convert_;
};

/// The source is the last input: copy_ has the tensor to be overwritten before it.
std::unique_ptr<Kernel> prepare(const KernelRequest& request, std::string&) {
  TensorSpec from = request.inputs.back(), to = request.outputs[0];
  if (from.strides.size() != from.shape.size()) from.strides = contiguous_strides(from.shape);
  if (to.strides.size() != to.shape.size()) to.strides = contiguous_strides(to.shape);
  return std::make_unique<ReferenceCopy>(from, to, request.inputs.size() - 1);
}

const RegisterKernel cast({"cast", "reference", DeviceType::CPU, kReferencePriority, &prepare});
const RegisterKernel clone({"clone", "reference", DeviceType::CPU, kReferencePriority, &prepare});
const RegisterKernel fill({"fill_", "reference", DeviceType::CPU, kReferencePriority, &prepare});
const RegisterKernel overwrite({"copy_", "reference", DeviceType::CPU, kReferencePriority, &prepare});

}  // namespace
}  // namespace hw
