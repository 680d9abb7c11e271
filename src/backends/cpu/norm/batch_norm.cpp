// Batch normalisation, one channel after the other, channels over the threads. Any layout: runs that are not contiguous are
// gathered into scratch, and so is a gradient with another layout than x, such as an expanded one: its bits are those of the same
// numbers in x's layout.
#include "backends/cpu/norm/batch_norm.h"

#include <cstring>

#include "base/thread_team.h"
#include "kernels/kernel.h"

namespace hw {

namespace {

/// Whether the axes after the second lie behind one another in memory.
bool contiguous_runs(const TensorSpec& s) {
  int64_t step = 1;
  for (int64_t a = s.ndim() - 1; a >= 2; --a) {
    size_t u = static_cast<size_t>(a);
    if (s.shape[u] != 1 && s.strides[u] != step) return false;
    step *= s.shape[u];
  }
  return true;
}

/// Channel `c` of any layout, in row-major order.
template <class U>
void gather(const TensorSpec& s, int64_t c, const void* from, void* to) {
  const size_t last = s.shape.size() - 1;
  const int64_t length = last == 1 ? 1 : s.shape[last], step = last == 1 ? 0 : s.strides[last];
  int64_t rows = s.shape[0];
  for (size_t a = 2; a < last; ++a) rows *= s.shape[a];
  U* out = static_cast<U*>(to);
  for (int64_t row = 0; row < rows; ++row) {
    int64_t offset = c * s.strides[1], rest = row;
    for (size_t a = last; a-- > 2; rest /= s.shape[a]) offset += rest % s.shape[a] * s.strides[a];
    const U* in = static_cast<const U*>(from) + offset + rest * s.strides[0];
    for (int64_t i = 0; i < length; ++i) *out++ = in[i * step];
  }
}

class BatchNormKernel final : public Kernel {
 public:
  BatchNormKernel(const KernelRequest& r, bool backward, double eps) : backward_(backward), eps_(eps) {
    const TensorSpec& x = r.inputs[backward ? 1 : 0];
    dtype_ = x.dtype;
    size_ = dtype_size(dtype_);
    wide_ = dtype_ == DType::F64 ? 8 : 4;
    BatchNormLoops loops = find_batch_norm(dtype_);
    loop_ = backward ? loops.backward : loops.forward;
    count_ = x.shape[0];
    channels_ = x.shape[1];
    length_ = 1;
    for (int64_t a = 2; a < x.ndim(); ++a) length_ *= x.shape[static_cast<size_t>(a)];
    step_ = x.strides[0];
    channel_step_ = x.strides[1];
    // [N, C] with C contiguous, or N alone: the runs have one element and N is the run.
    if (length_ == 1) {
      gather_ = x.strides[0] != 1;
      length_ = count_;
      count_ = 1;
    }
    if (!backward) return;
    dy_ = r.inputs[0];
    gather_dy_ = dy_.strides != x.strides && x.numel() > 1;
  }

  size_t scratch_bytes() const override {
    return static_cast<size_t>(parallel_pieces(channels_, grain()) * piece_bytes());
  }

  void run(const KernelArgs& args) const override {
    const int64_t pieces = parallel_pieces(channels_, grain());
    const int64_t per = pieces ? (channels_ + pieces - 1) / pieces : 1;
    parallel_for(channels_, grain(), [&](int64_t begin, int64_t end) {
      char* buffer = static_cast<char*>(args.scratch) + (begin / per) * piece_bytes();
      for (int64_t c = begin; c < end; ++c) one(args, c, buffer);
    });
  }

 private:
  int64_t grain() const {
    const int64_t elements = count_ * length_;
    return elements > 0 ? std::max<int64_t>(1, 16384 / elements) : channels_;
  }

  /// Scratch of a thread: a run of x, then the gradient.
  int64_t piece_bytes() const { return size_ * ((gather_ ? 2 * length_ : 0) + (gather_dy_ ? count_ * length_ : 0)); }

  /// Element `c` of a per-channel operand, or null.
  template <class P>
  P* at(P* p, int64_t c) const {
    using Byte = std::conditional_t<std::is_const_v<P>, const char, char>;
    return p ? static_cast<P*>(static_cast<Byte*>(p) + c * wide_) : nullptr;
  }

  void one(const KernelArgs& args, int64_t c, char* buffer) const {
    Channel ch{};
    ch.count = count_;
    ch.length = length_;
    ch.step = step_;
    ch.dy_step = gather_dy_ ? length_ : step_;
    ch.eps = eps_;
    const char* x = static_cast<const char*>(args.inputs[backward_ ? 1 : 0]) + c * channel_step_ * size_;
    char* out = static_cast<char*>(args.outputs[0]) + c * channel_step_ * size_;
    ch.x = gather_ ? buffer : x;
    if (gather_) collect(x, buffer);
    if (backward_) ch.dy = gradient(args, c, buffer);
    ch.y = ch.dx = gather_ ? buffer : out;
    if (backward_) {
      ch.mean = const_cast<void*>(at(args.inputs[2], c));
      ch.rstd = const_cast<void*>(at(args.inputs[3], c));
      ch.weight = at(args.inputs[4], c);
      ch.dweight = at(args.outputs[1], c);
      ch.dbias = at(args.outputs[2], c);
    } else {
      ch.weight = at(args.inputs[1], c);
      ch.bias = at(args.inputs[2], c);
      ch.mean = at(args.outputs[1], c);
      ch.rstd = at(args.outputs[2], c);
    }
    loop_(ch);
    if (gather_)
      for (int64_t i = 0; i < length_; ++i)
        std::memcpy(out + i * step_ * size_, buffer + i * size_, static_cast<size_t>(size_));
  }

  /// Channel `c` of dy: where it lies, or gathered into scratch.
  const void* gradient(const KernelArgs& args, int64_t c, char* buffer) const {
    char* place = buffer + (gather_ ? length_ * size_ : 0);
    if (gather_dy_) {
      switch (size_) {
        case 2: gather<uint16_t>(dy_, c, args.inputs[0], place); break;
        case 4: gather<uint32_t>(dy_, c, args.inputs[0], place); break;
        default: gather<uint64_t>(dy_, c, args.inputs[0], place);
      }
      return place;
    }
    const char* dy = static_cast<const char*>(args.inputs[0]) + c * channel_step_ * size_;
    if (!gather_) return dy;
    collect(dy, place);
    return place;
  }

  void collect(const char* from, char* to) const {
    for (int64_t i = 0; i < length_; ++i)
      std::memcpy(to + i * size_, from + i * step_ * size_, static_cast<size_t>(size_));
  }

  bool backward_, gather_ = false, gather_dy_ = false;
  double eps_;
  DType dtype_;
  int64_t size_, wide_, count_, channels_, length_, step_, channel_step_;
  ChannelLoop loop_;
  TensorSpec dy_;
};

/// The big operands but the gradient must have one layout with contiguous runs, the small ones be contiguous and of the statistics' dtype.
std::unique_ptr<Kernel> prepare(const KernelRequest& r, std::string& why_not, bool backward) {
  const TensorSpec& x = r.inputs[backward ? 1 : 0];
  if (backward && (r.inputs[0].dtype != x.dtype || !(r.inputs[0].shape == x.shape)))
    return why_not = "the gradient is of another kind", nullptr;
  for (const TensorSpec* s : {&x, &std::as_const(r.outputs[0])}) {
    if (!contiguous_runs(*s)) return why_not = "needs contiguous rows", nullptr;
    if (s->strides != x.strides && s->shape == x.shape && s->numel() > 1) return why_not = "layouts differ", nullptr;
    if (s->dtype != x.dtype) return why_not = "dtypes differ", nullptr;
  }
  const DType wide = x.dtype == DType::F64 ? DType::F64 : DType::F32;
  for (size_t i = backward ? 2 : 1; i < r.inputs.size(); ++i)
    if (r.inputs[i].given() && (r.inputs[i].dtype != wide || !r.inputs[i].contiguous()))
      return why_not = "weights must be contiguous and of the statistics' dtype", nullptr;
  return std::make_unique<BatchNormKernel>(r, backward, r.attrs.empty() ? 0 : r.attrs[0].f64());
}

std::unique_ptr<Kernel> prepare_forward(const KernelRequest& r, std::string& why_not) {
  return prepare(r, why_not, false);
}
std::unique_ptr<Kernel> prepare_backward(const KernelRequest& r, std::string& why_not) {
  return prepare(r, why_not, true);
}

const RegisterKernel registered[] = {
    RegisterKernel({"_batch_norm", "simd", DeviceType::CPU, 10, &prepare_forward}),
    RegisterKernel({"_batch_norm_grad", "simd", DeviceType::CPU, 10, &prepare_backward}),
};

}  // namespace

}  // namespace hw
