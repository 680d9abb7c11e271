// rand, randn, uniform_, normal_ and _dropout for contiguous tensors; _dropout_grad.
#include "backends/cpu/random/numbers.h"
#include "base/thread_team.h"
#include "core/visit.h"
#include "kernels/kernel.h"
#include "kernels/random/request.h"

namespace hw {

namespace {

/// Calls f(begin, end) for chunks of a draw, on several threads.
template <class F>
void chunks(int64_t n, F&& f) {
  parallel_for((n + kRandomChunk - 1) / kRandomChunk, 16, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) f(c * kRandomChunk, std::min(n, (c + 1) * kRandomChunk));
  });
}

class Numbers final : public Kernel {
 public:
  Numbers(int64_t n, UniformChunk chunk, float first, float second)
      : n_(n), chunk_(chunk), first_(first), second_(second) {}
  void run(const KernelArgs& args) const override {
    const Draw draw = draw_of(args);
    float* y = static_cast<float*>(args.outputs[0]);
    chunks(n_, [&](int64_t begin, int64_t end) { chunk_(draw, begin, end, first_, second_, y + begin); });
  }

 private:
  int64_t n_;
  UniformChunk chunk_;
  float first_, second_;
};

bool takes(const KernelRequest& r, std::string& why_not) {
  if (r.outputs[0].dtype == DType::F32 && r.outputs[0].contiguous()) return true;
  why_not = "needs contiguous float32";
  return false;
}

std::unique_ptr<Kernel> prepare_rand(const KernelRequest& r, std::string& why_not) {
  if (!takes(r, why_not)) return nullptr;
  return std::make_unique<Numbers>(r.outputs[0].numel(), find_uniform_chunk(), 0.0f, 1.0f);
}
std::unique_ptr<Kernel> prepare_uniform(const KernelRequest& r, std::string& why_not) {
  if (!takes(r, why_not)) return nullptr;
  const float low = static_cast<float>(r.attrs[0].f64()), width = static_cast<float>(r.attrs[1].f64()) - low;
  return std::make_unique<Numbers>(r.outputs[0].numel(), find_uniform_chunk(), low, width);
}
std::unique_ptr<Kernel> prepare_randn(const KernelRequest& r, std::string& why_not) {
  if (!takes(r, why_not)) return nullptr;
  return std::make_unique<Numbers>(r.outputs[0].numel(), find_normal_chunk(), 0.0f, 1.0f);
}
std::unique_ptr<Kernel> prepare_normal(const KernelRequest& r, std::string& why_not) {
  if (!takes(r, why_not)) return nullptr;
  return std::make_unique<Numbers>(r.outputs[0].numel(), find_normal_chunk(), static_cast<float>(r.attrs[0].f64()),
                                   static_cast<float>(r.attrs[1].f64()));
}

class Dropout final : public Kernel {
 public:
  Dropout(const KernelRequest& r, int64_t kind)
      : n_(r.inputs[0].numel()),
        size_(dtype_size(r.inputs[0].dtype)),
        p_(r.attrs[0].f64()),
        chunk_(find_dropout_chunk(kind)) {}
  void run(const KernelArgs& args) const override {
    const Draw draw = draw_of(args);
    const uint64_t threshold = static_cast<uint64_t>(p_ * 0x1p32);
    const float factor = p_ < 1 ? static_cast<float>(1 / (1 - p_)) : 0;
    const char* x = static_cast<const char*>(args.inputs[0]);
    char* y = static_cast<char*>(args.outputs[0]);
    bool* mask = static_cast<bool*>(args.outputs[1]);
    chunks(n_, [&](int64_t begin, int64_t end) {
      chunk_(draw, begin, end, threshold, factor, x + begin * size_, y + begin * size_, mask + begin);
    });
  }

 private:
  int64_t n_, size_;
  double p_;
  DropoutChunk chunk_;
};

std::unique_ptr<Kernel> prepare_dropout(const KernelRequest& r, std::string& why_not) {
  const DType d = r.inputs[0].dtype;
  const int64_t kind = d == DType::F32 ? 0 : d == DType::F16 ? 1 : d == DType::BF16 ? 2 : -1;
  if (kind >= 0 && r.inputs[0].contiguous() && r.outputs[0].contiguous() && r.outputs[1].contiguous())
    return std::make_unique<Dropout>(r, kind);
  why_not = "needs contiguous tensors of at most 32 bits";
  return nullptr;
}

class DropoutGrad final : public Kernel {
 public:
  explicit DropoutGrad(const KernelRequest& r)
      : n_(r.inputs[0].numel()), dtype_(r.inputs[0].dtype), scale_(r.attrs[0].f64()) {}
  void run(const KernelArgs& args) const override {
    visit_floating(dtype_, [&]<class T>(Type<T>) {
      const T* dy = static_cast<const T*>(args.inputs[0]);
      const uint8_t* mask = static_cast<const uint8_t*>(args.inputs[1]);
      T* dx = static_cast<T*>(args.outputs[0]);
      using A = Accumulate<T>;
      const A scale = static_cast<A>(scale_);
      parallel_for(n_, 32768, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const A value = static_cast<A>(dy[i]) * scale;
          dx[i] = mask[i] ? T(value) : T(A(0));
        }
      });
    });
  }

 private:
  int64_t n_;
  DType dtype_;
  double scale_;
};

std::unique_ptr<Kernel> prepare_dropout_grad(const KernelRequest& r, std::string& why_not) {
  if (is_floating(r.inputs[0].dtype) && r.inputs[0].contiguous() && r.inputs[1].contiguous() &&
      r.outputs[0].contiguous())
    return std::make_unique<DropoutGrad>(r);
  why_not = "needs contiguous floating tensors";
  return nullptr;
}

const RegisterKernel rand({"rand", "simd", DeviceType::CPU, 10, &prepare_rand});
const RegisterKernel uniform({"uniform_", "simd", DeviceType::CPU, 10, &prepare_uniform});
const RegisterKernel randn({"randn", "simd", DeviceType::CPU, 10, &prepare_randn});
const RegisterKernel normal({"normal_", "simd", DeviceType::CPU, 10, &prepare_normal});
const RegisterKernel dropout({"_dropout", "simd", DeviceType::CPU, 10, &prepare_dropout});
const RegisterKernel dropout_grad({"_dropout_grad", "cpu", DeviceType::CPU, 10, &prepare_dropout_grad});

}  // namespace
}  // namespace hw
