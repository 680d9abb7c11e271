// The embedding steps as they are defined: the gradient of the table, in scratch memory, then the step.
#include "kernels/optim/embedding_step.h"

namespace hw {

EmbeddingStepParts embedding_step_parts(const KernelRequest& r) {
  EmbeddingStepParts parts;
  parts.op = r.op.substr(std::string_view("embedding_").size());
  const TensorSpec& param = r.inputs[0];
  TensorSpec grad = param;
  grad.strides = contiguous_strides(param.shape);
  parts.step_inputs = {param, grad};
  for (size_t i = 3; i < r.inputs.size(); ++i) parts.step_inputs.push_back(r.inputs[i]);
  parts.padding = r.attrs[r.attrs.size() - 2].i64();
  parts.by_frequency = r.attrs[r.attrs.size() - 1].truth();
  return parts;
}

namespace {

class EmbeddingStep final : public Kernel {
 public:
  explicit EmbeddingStep(const KernelRequest& r) {
    const EmbeddingStepParts parts = embedding_step_parts(r);
    const TensorSpec& grad = parts.step_inputs[1];
    gradient_attrs_ = {grad.shape[0], parts.padding, parts.by_frequency};
    num_inputs_ = parts.step_inputs.size();
    grad_bytes_ = (static_cast<size_t>(grad.numel() * dtype_size(grad.dtype)) + 63) / 64 * 64;
    gradient_ =
        prepare_kernel({"_embedding_grad", r.inputs.subspan(1, 2), {&grad, 1}, gradient_attrs_}, grad.device.type);
    step_ = prepare_kernel({parts.op, parts.step_inputs, r.outputs, r.attrs}, grad.device.type);
  }
  size_t scratch_bytes() const override {
    return grad_bytes_ + std::max(gradient_->scratch_bytes(), step_->scratch_bytes());
  }
  void run(const KernelArgs& args) const override {
    void* grad = args.scratch;
    void* scratch = static_cast<char*>(args.scratch) + grad_bytes_;
    gradient_->run({args.inputs + 1, &grad, scratch, &gradient_attrs_, args.status});
    if (args.status->failed) return;
    const void* inputs[5] = {args.inputs[0], grad};
    for (size_t i = 2; i < num_inputs_; ++i) inputs[i] = args.inputs[i + 1];
    step_->run({inputs, args.outputs, scratch, args.attrs, args.status});
  }

 private:
  Attrs gradient_attrs_;
  std::unique_ptr<Kernel> gradient_, step_;
  size_t num_inputs_ = 0, grad_bytes_ = 0;
};

std::unique_ptr<Kernel> prepare(const KernelRequest& r, std::string&) { return std::make_unique<EmbeddingStep>(r); }

const RegisterKernel sgd({"embedding_sgd_step", "reference", DeviceType::CPU, kReferencePriority, &prepare});
const RegisterKernel adam({"embedding_adam_step", "reference", DeviceType::CPU, kReferencePriority, &prepare});
const RegisterKernel rmsprop({"embedding_rmsprop_step", "reference", DeviceType::CPU, kReferencePriority, &prepare});
const RegisterKernel adagrad({"embedding_adagrad_step", "reference", DeviceType::CPU, kReferencePriority, &prepare});

}  // namespace

}  // namespace hw
