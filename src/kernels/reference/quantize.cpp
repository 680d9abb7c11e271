// Quantisation element by element, any strides and dtypes: what the fast kernels are compared with.
#include "base/thread_team.h"
#include "core/visit.h"
#include "kernels/loops/each.h"
#include "kernels/quantization/request.h"

namespace hw {

namespace {

/// What one element becomes; W is the type of the arithmetic.
enum class Task { Quantize, Dequantize, Fake };

template <class W>
double element(Task task, double x, W scale, double zero, const QuantizeRequest& q) {
  if (task == Task::Dequantize) return static_cast<W>(x - zero) * scale;
  const double low = static_cast<double>(q.low), high = static_cast<double>(q.high);
  if (task == Task::Fake && x != x) return x;
  const double integer = quantized(static_cast<W>(x), scale, zero, low, high);
  return task == Task::Quantize ? integer : static_cast<double>(static_cast<W>(integer - zero) * scale);
}

class Quantize final : public Kernel {
 public:
  Quantize(const KernelRequest& r, Task task)
      : q_(read_quantize_request(r)),
        task_(task),
        read_x_(find_read(q_.x_dtype)),
        read_scale_(find_read(q_.scale_dtype)),
        read_zero_(find_read(q_.zero_dtype)) {}
  void run(const KernelArgs& args) const override {
    visit_dtype(q_.y_dtype, [&]<class T>(Type<T>) {
      if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
        parallel_for(numel(q_.shape), 4096, [&](int64_t begin, int64_t end) { part<T>(args, begin, end); });
    });
  }

 private:
  template <class T>
  void part(const KernelArgs& args, int64_t begin, int64_t end) const {
    T* y = static_cast<T*>(args.outputs[0]);
    each<4>(
        q_.shape, {q_.x, q_.y, q_.scale, q_.zero},
        [&](int64_t x_at, int64_t y_at, int64_t scale_at, int64_t zero_at) {
          const double x = read_x_(args.inputs[0], x_at), scale = read_scale_(args.inputs[1], scale_at),
                       zero = read_zero_(args.inputs[2], zero_at);
          const double made = q_.wide ? element<double>(task_, x, scale, zero, q_)
                                      : element<float>(task_, x, static_cast<float>(scale), zero, q_);
          if constexpr (std::is_arithmetic_v<T>)
            y[y_at] = static_cast<T>(made);
          else
            y[y_at] = T(static_cast<float>(made));
        },
        begin, end);
  }

  QuantizeRequest q_;
  Task task_;
  ReadFn read_x_, read_scale_, read_zero_;
};

template <Task kTask>
std::unique_ptr<Kernel> prepare(const KernelRequest& r, std::string&) {
  return std::make_unique<Quantize>(r, kTask);
}

const RegisterKernel registered[] = {
    RegisterKernel({"quantize_linear", "reference", DeviceType::CPU, kReferencePriority, &prepare<Task::Quantize>}),
    RegisterKernel({"dequantize_linear", "reference", DeviceType::CPU, kReferencePriority, &prepare<Task::Dequantize>}),
    RegisterKernel({"fake_quantize", "reference", DeviceType::CPU, kReferencePriority, &prepare<Task::Fake>}),
};

}  // namespace
}  // namespace hw
