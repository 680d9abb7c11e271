// Copies operands to contiguous memory of the wanted dtype and back; see the header.
#include "kernels/staged.h"

#include "base/thread_team.h"
#include "core/visit.h"

namespace hw {
namespace {

/// to[i] = from[strided i] for the elements [begin, end) in row-major order, converted between floating types.
template <class From, class To>
void convert(const From* from, const TensorSpec& spec, To* to, int64_t begin, int64_t end) {
  int64_t ndim = spec.ndim();
  if (spec.contiguous()) {
    for (int64_t i = begin; i < end; ++i) to[i] = To(from[i]);
    return;
  }
  Dims index(static_cast<size_t>(ndim), 0);
  int64_t offset = 0, rest = begin;
  for (int64_t axis = ndim - 1; axis >= 0; --axis) {
    index[axis] = rest % spec.shape[axis];
    rest /= spec.shape[axis];
    offset += index[axis] * spec.strides[axis];
  }
  for (int64_t i = begin; i < end; ++i) {
    to[i] = To(from[offset]);
    for (int64_t axis = ndim - 1; axis >= 0; --axis) {
      offset += spec.strides[axis];
      if (++index[axis] < spec.shape[axis]) break;
      offset -= spec.strides[axis] * spec.shape[axis];
      index[axis] = 0;
    }
  }
}

void stage(const void* from, const TensorSpec& spec, void* to, DType dtype) {
  parallel_for(spec.numel(), 16384, [&](int64_t begin, int64_t end) {
    visit_dtype(spec.dtype, [&]<class From>(Type<From>) {
      visit_dtype(dtype, [&]<class To>(Type<To>) {
        if constexpr (std::is_same_v<From, To> || (std::is_convertible_v<From, float> && std::is_floating_point_v<To>))
          convert(static_cast<const From*>(from), spec, static_cast<To*>(to), begin, end);
        else if constexpr (std::is_same_v<From, float> && (std::is_same_v<To, Half> || std::is_same_v<To, BFloat16>))
          convert(static_cast<const From*>(from), spec, static_cast<To*>(to), begin, end);
      });
    });
  });
}

TensorSpec staged_spec(const TensorSpec& spec, DType compute) {
  TensorSpec to = spec;
  if (!spec.given()) return to;
  if (is_floating(spec.dtype)) to.dtype = compute;
  to.strides = contiguous_strides(spec.shape);
  return to;
}

class StagedKernel final : public Kernel {
 public:
  StagedKernel(const KernelRequest& request, std::vector<TensorSpec> inputs, std::vector<TensorSpec> outputs,
               std::unique_ptr<Kernel> inner)
      : inner_(std::move(inner)), staged_in_(std::move(inputs)), staged_out_(std::move(outputs)) {
    in_.assign(request.inputs.begin(), request.inputs.end());
    out_.assign(request.outputs.begin(), request.outputs.end());
    bytes_ = round(inner_->scratch_bytes());
    for (size_t i = 0; i < in_.size(); ++i) add(in_[i], staged_in_[i]);
    for (size_t i = 0; i < out_.size(); ++i) add(out_[i], staged_out_[i]);
  }
  size_t scratch_bytes() const override { return bytes_; }
  void run(const KernelArgs& args) const override {
    auto* scratch = static_cast<char*>(args.scratch);
    const void* inputs[8];
    void* outputs[4];
    for (size_t i = 0; i < in_.size(); ++i) {
      inputs[i] = args.inputs[i];
      if (offset_[i] == kDirect) continue;
      stage(args.inputs[i], in_[i], scratch + offset_[i], staged_in_[i].dtype);
      inputs[i] = scratch + offset_[i];
    }
    for (size_t i = 0; i < out_.size(); ++i) {
      size_t offset = offset_[in_.size() + i];
      outputs[i] = offset == kDirect ? args.outputs[i] : scratch + offset;
    }
    inner_->run({inputs, outputs, scratch, args.attrs, args.status});
    for (size_t i = 0; i < out_.size(); ++i)
      if (offset_[in_.size() + i] != kDirect) stage(outputs[i], staged_out_[i], args.outputs[i], out_[i].dtype);
  }

 private:
  static constexpr size_t kDirect = ~size_t{0};
  static size_t round(size_t bytes) { return (bytes + 63) / 64 * 64; }
  void add(const TensorSpec& from, const TensorSpec& to) {
    if (!from.given() || (from.dtype == to.dtype && from.contiguous())) {
      offset_.push_back(kDirect);
      return;
    }
    offset_.push_back(bytes_);
    bytes_ += round(static_cast<size_t>(to.numel() * dtype_size(to.dtype)));
  }

  std::unique_ptr<Kernel> inner_;
  std::vector<TensorSpec> in_, out_, staged_in_, staged_out_;
  std::vector<size_t> offset_;
  size_t bytes_ = 0;
};

}  // namespace

std::unique_ptr<Kernel> prepare_staged(const KernelRequest& request, DType compute, PrepareFn inner,
                                       std::string& why_not) {
  std::vector<TensorSpec> inputs, outputs;
  bool direct = true;
  auto add = [&](const TensorSpec& spec, std::vector<TensorSpec>& to) {
    to.push_back(staged_spec(spec, compute));
    direct = direct && (!spec.given() || (spec.dtype == to.back().dtype && spec.contiguous()));
  };
  for (const TensorSpec& spec : request.inputs) add(spec, inputs);
  for (const TensorSpec& spec : request.outputs) {
    add(spec, outputs);
    if (!spec.contiguous()) {
      why_not = "the output is not contiguous";
      return nullptr;
    }
  }
  if (inputs.size() > 8 || outputs.size() > 4) {
    why_not = "too many operands to stage";
    return nullptr;
  }
  std::unique_ptr<Kernel> kernel = inner({request.op, inputs, outputs, request.attrs, compute}, why_not);
  if (!kernel || direct) return kernel;
  return std::make_unique<StagedKernel>(request, std::move(inputs), std::move(outputs), std::move(kernel));
}

}  // namespace hw
