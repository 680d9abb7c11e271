// The plain reference: one element at a time, from the scalar expressions, on the caller's thread.
#include <cstddef>

#include "kernels/elementwise/driver.h"
#include "kernels/loops/convert.h"

namespace hw {

namespace {

class ReferenceKernel final : public Kernel {
 public:
  explicit ReferenceKernel(ElementwisePlan plan) : plan_(std::move(plan)), count_(numel(plan_.shape)) {
    store_ = find_convert(plan_.entry->out, plan_.dtypes[0]);
    for (size_t i = 1; i < plan_.dtypes.size(); ++i)
      loads_[i - 1] = find_convert(plan_.dtypes[i], plan_.entry->compute);
  }

  void run(const KernelArgs& args) const override {
    int64_t index[kMaxDims] = {};
    for (int64_t k = 0; k < count_; ++k) {
      run_element(args, index);
      for (size_t a = plan_.shape.size(); a-- > 0;) {
        if (++index[a] < plan_.shape[a]) break;
        index[a] = 0;
      }
    }
  }

 private:
  int64_t byte_offset(size_t operand, const int64_t* index) const {
    int64_t offset = 0;
    for (size_t a = 0; a < plan_.shape.size(); ++a) offset += index[a] * plan_.strides[operand][a];
    return offset * dtype_size(plan_.dtypes[operand]);
  }

  void run_element(const KernelArgs& args, const int64_t* index) const {
    alignas(16) std::byte values[4][16], result[16];
    const void* in[4];
    for (size_t i = 0; i + 1 < plan_.dtypes.size(); ++i) {
      loads_[i](static_cast<const char*>(args.inputs[i]) + byte_offset(i + 1, index), 1, values[i], 1, 1);
      in[i] = values[i];
    }
    if (plan_.checks_divisor) report_zero_divisor(plan_.entry->compute, in[1], 1, args.status);
    plan_.entry->loop(in, result, 1, plan_.params.data());
    store_(result, 1, static_cast<char*>(args.outputs[0]) + byte_offset(0, index), 1, 1);
  }

  ElementwisePlan plan_;
  int64_t count_;
  ConvertFn store_ = nullptr;
  ConvertFn loads_[4] = {};
};

}  // namespace

std::unique_ptr<Kernel> prepare_elementwise_reference(const KernelRequest& request, std::string& why_not) {
  ElementwisePlan plan;
  if (!make_elementwise_plan(request, &find_reference_elementwise, plan, why_not)) return nullptr;
  return std::make_unique<ReferenceKernel>(std::move(plan));
}

}  // namespace hw
