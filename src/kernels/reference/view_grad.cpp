// Plain gradients of views: zeros, then one element after the other is added.
#include <cstring>

#include "kernels/index/accumulate.h"
#include "kernels/index/view_grad.h"
#include "kernels/loops/each.h"

namespace hw {

namespace {

class ViewGrad final : public Kernel {
 public:
  ViewGrad(const KernelRequest& r, ViewGradPlan plan) : plan_(std::move(plan)), x_(r.inputs[0]), y_(r.outputs[0]) {}
  size_t scratch_bytes() const override { return static_cast<size_t>(plan_.room * dtype_size(y_.dtype)); }
  void run(const KernelArgs& args) const override {
    visit_dtype(y_.dtype, [&]<class T>(Type<T>) {
      T* y = static_cast<T*>(args.outputs[0]);
      T* to = plan_.room ? static_cast<T*>(args.scratch) : y;
      if (plan_.room)
        std::memset(static_cast<void*>(to), 0, scratch_bytes());
      else
        each<1>(y_.shape, {strides_of(y_)}, [&](int64_t at) { y[at] = T{}; });
      const T* x = static_cast<const T*>(args.inputs[0]);
      each<2>(x_.shape, {strides_of(x_), plan_.strides},
              [&](int64_t from, int64_t at) { to[at + plan_.offset] = added(to[at + plan_.offset], x[from]); });
      if (plan_.room)
        each<2>(y_.shape, {plan_.room_strides, strides_of(y_)}, [&](int64_t from, int64_t at) { y[at] = to[from]; });
    });
  }

 private:
  ViewGradPlan plan_;
  TensorSpec x_, y_;
};

std::unique_ptr<Kernel> prepare(const KernelRequest& r, std::string& why_not) {
  ViewGradPlan plan;
  if (view_grad_plan(r, plan)) return std::make_unique<ViewGrad>(r, std::move(plan));
  why_not = "no gradient of a view";
  return nullptr;
}

const RegisterKernel slice_grad({"_slice_grad", "reference", DeviceType::CPU, kReferencePriority, &prepare});
const RegisterKernel diagonal_grad({"_diagonal_grad", "reference", DeviceType::CPU, kReferencePriority, &prepare});
const RegisterKernel unfold_grad({"_unfold_grad", "reference", DeviceType::CPU, kReferencePriority, &prepare});
const RegisterKernel as_strided_grad({"_as_strided_grad", "reference", DeviceType::CPU, kReferencePriority, &prepare});

}  // namespace
}  // namespace hw
