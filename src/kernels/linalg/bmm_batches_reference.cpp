// _bmm_batches by bmm: batch axes that lie one in the other are one, the products of the others follow each other.
#include "kernels/kernel.h"

namespace hw {
namespace {

/// How many of the innermost batch axes are a single axis in each of these layouts.
int64_t joined_axes(const TensorSpec& a, const TensorSpec& b, const TensorSpec& c) {
  int64_t axis = a.ndim() - 3, joined = 1;
  for (; axis > 0; --axis, ++joined)
    for (const TensorSpec* s : {&a, &b, &c})
      if (s->strides[static_cast<size_t>(axis - 1)] !=
          s->strides[static_cast<size_t>(axis)] * s->shape[static_cast<size_t>(axis)])
        return joined;
  return joined;
}

/// The three axes that bmm works on.
TensorSpec inner(const TensorSpec& s, int64_t joined) {
  TensorSpec t = s;
  const auto first = static_cast<size_t>(s.ndim() - 3);
  t.shape = Dims(std::span<const int64_t>(s.shape.data() + first, 3));
  t.strides = Dims(std::span<const int64_t>(s.strides.data() + first, 3));
  for (int64_t i = 1; i < joined; ++i) t.shape[0] *= s.shape[first - static_cast<size_t>(i)];
  return t;
}

class Batches final : public Kernel {
 public:
  explicit Batches(const KernelRequest& r) {
    const TensorSpec* specs[3] = {&r.inputs[0], &r.inputs[1], &r.outputs[0]};
    const int64_t joined = joined_axes(*specs[0], *specs[1], *specs[2]);
    const TensorSpec in[2] = {inner(*specs[0], joined), inner(*specs[1], joined)}, out = inner(*specs[2], joined);
    bmm_ = prepare_kernel({"bmm", in, {&out, 1}, r.attrs, r.compute}, out.device.type);
    for (int64_t axis = 0; axis < specs[2]->ndim() - 2 - joined; ++axis) {
      outer_.push_back(specs[2]->shape[static_cast<size_t>(axis)]);
      for (size_t k = 0; k < 3; ++k)
        steps_[k].push_back(specs[k]->strides[static_cast<size_t>(axis)] * dtype_size(specs[k]->dtype));
    }
  }
  size_t scratch_bytes() const override { return bmm_->scratch_bytes(); }
  void run(const KernelArgs& args) const override {
    int64_t calls = 1;
    for (int64_t n : outer_) calls *= n;
    for (int64_t call = 0; call < calls; ++call) {
      int64_t at[3] = {}, rest = call;
      for (size_t axis = outer_.size(); axis-- > 0; rest /= outer_[axis])
        for (size_t k = 0; k < 3; ++k) at[k] += rest % outer_[axis] * steps_[k][axis];
      const void* inputs[2] = {static_cast<const char*>(args.inputs[0]) + at[0],
                               static_cast<const char*>(args.inputs[1]) + at[1]};
      void* output = static_cast<char*>(args.outputs[0]) + at[2];
      bmm_->run({inputs, &output, args.scratch, args.attrs, args.status});
      if (args.status->failed) return;
    }
  }

 private:
  std::unique_ptr<Kernel> bmm_;
  Dims outer_;
  Dims steps_[3];  // bytes
};

std::unique_ptr<Kernel> prepare(const KernelRequest& r, std::string&) { return std::make_unique<Batches>(r); }

const RegisterKernel batches({"_bmm_batches", "reference", DeviceType::CPU, kReferencePriority, &prepare});

}  // namespace
}  // namespace hw
