// _dropout and its gradient, one element at a time.
#include "base/thread_team.h"
#include "core/visit.h"
#include "kernels/kernel.h"
#include "kernels/loops/each.h"
#include "kernels/random/request.h"

namespace hw {

namespace {

template <class T>
T scaled(T x, double factor) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
    return T(static_cast<float>(x) * static_cast<float>(factor));
  else if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>)
    return x * static_cast<typename T::value_type>(factor);
  else
    return static_cast<T>(x * static_cast<T>(factor));
}

class Dropout final : public Kernel {
 public:
  explicit Dropout(const KernelRequest& r)
      : x_(r.inputs[0]), y_(strides_of(r.outputs[0])), mask_(strides_of(r.outputs[1])), p_(r.attrs[0].f64()) {}
  void run(const KernelArgs& args) const override {
    const Draw draw = draw_of(args);
    const uint64_t threshold = static_cast<uint64_t>(p_ * 0x1p32);
    const double factor = p_ < 1 ? 1 / (1 - p_) : 0;
    visit_dtype(x_.dtype, [&]<class T>(Type<T>) {
      const T* x = static_cast<const T*>(args.inputs[0]);
      T* y = static_cast<T*>(args.outputs[0]);
      bool* mask = static_cast<bool*>(args.outputs[1]);
      parallel_for(x_.numel(), 4096, [&](int64_t begin, int64_t end) {
        int64_t i = begin;
        each<3>(
            x_.shape, {strides_of(x_), y_, mask_},
            [&](int64_t from, int64_t to, int64_t m) {
              const bool kept = draw.word(i++) >= threshold;
              mask[m] = kept;
              y[to] = kept ? scaled(x[from], factor) : T(0);
            },
            begin, end);
      });
    });
  }

 private:
  TensorSpec x_;
  Dims y_, mask_;
  double p_;
};

class DropoutGrad final : public Kernel {
 public:
  explicit DropoutGrad(const KernelRequest& r)
      : dy_(r.inputs[0]), mask_(strides_of(r.inputs[1])), dx_(strides_of(r.outputs[0])), scale_(r.attrs[0].f64()) {}
  void run(const KernelArgs& args) const override {
    visit_dtype(dy_.dtype, [&]<class T>(Type<T>) {
      const T* dy = static_cast<const T*>(args.inputs[0]);
      const bool* mask = static_cast<const bool*>(args.inputs[1]);
      T* dx = static_cast<T*>(args.outputs[0]);
      each<3>(dy_.shape, {strides_of(dy_), mask_, dx_},
              [&](int64_t from, int64_t m, int64_t to) { dx[to] = mask[m] ? scaled(dy[from], scale_) : T(0); });
    });
  }

 private:
  TensorSpec dy_;
  Dims mask_, dx_;
  double scale_;
};

std::unique_ptr<Kernel> prepare(const KernelRequest& r, std::string&) { return std::make_unique<Dropout>(r); }
std::unique_ptr<Kernel> prepare_grad(const KernelRequest& r, std::string&) { return std::make_unique<DropoutGrad>(r); }

const RegisterKernel dropout({"_dropout", "reference", DeviceType::CPU, kReferencePriority, &prepare});
const RegisterKernel dropout_grad({"_dropout_grad", "reference", DeviceType::CPU, kReferencePriority, &prepare_grad});

}  // namespace
}  // namespace hw
