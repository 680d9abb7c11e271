// Quantisation of f32 by SIMD, where the elements of one scale lie side by side.
#include <algorithm>
#include <cmath>

#include "backends/cpu/quantization/rows.h"
#include "base/thread_team.h"
#include "kernels/quantization/request.h"

namespace hw {

namespace {

class Rows final : public Kernel {
 public:
  Rows(QuantizeRequest q, StepsRow row)
      : q_(std::move(q)), row_(row), read_scale_(find_read(q_.scale_dtype)), read_zero_(find_read(q_.zero_dtype)) {
    scale_step_ = zero_step_ = 0;
    for (size_t a = 0; a < q_.shape.size(); ++a) scale_step_ += q_.scale[a], zero_step_ += q_.zero[a];
  }
  void run(const KernelArgs& args) const override {
    const int64_t n = q_.rows * q_.length;
    parallel_for(n, 32768, [&](int64_t begin, int64_t end) {
      while (begin < end) {
        const int64_t row = begin / q_.length, stop = std::min(end, (row + 1) * q_.length);
        piece(args, row % q_.channels, begin, stop - begin);
        begin = stop;
      }
    });
  }

 private:
  void piece(const KernelArgs& args, int64_t channel, int64_t begin, int64_t count) const {
    const char* x = static_cast<const char*>(args.inputs[0]) + begin * dtype_size(q_.x_dtype);
    char* y = static_cast<char*>(args.outputs[0]) + begin * dtype_size(q_.y_dtype);
    const double zero = read_zero_(args.inputs[2], channel * zero_step_);
    const float scale = static_cast<float>(read_scale_(args.inputs[1], channel * scale_step_));
    const double low = static_cast<double>(q_.low) - zero, high = static_cast<double>(q_.high) - zero;
    constexpr double kExact = 1 << 23;
    if (std::abs(zero) < kExact && std::abs(low) < kExact && std::abs(high) < kExact) {
      row_(x, y, count, {scale, static_cast<float>(zero), static_cast<float>(low), static_cast<float>(high)});
    } else {
      far(reinterpret_cast<const float*>(x), y, count, scale, zero);
    }
  }

  /// Zero points beyond what f32 holds exactly, which only a mistake brings here, as the reference kernel has them.
  void far(const float* x, char* y, int64_t count, float scale, double zero) const {
    const double low = static_cast<double>(q_.low), high = static_cast<double>(q_.high);
    for (int64_t i = 0; i < count; ++i) {
      const double integer = quantized(x[i], scale, zero, low, high);
      if (q_.y_dtype == DType::U8)
        reinterpret_cast<uint8_t*>(y)[i] = static_cast<uint8_t>(integer);
      else if (q_.y_dtype == DType::I8)
        reinterpret_cast<int8_t*>(y)[i] = static_cast<int8_t>(integer);
      else
        reinterpret_cast<float*>(y)[i] = x[i] == x[i] ? static_cast<float>(integer - zero) * scale : x[i];
    }
  }

  QuantizeRequest q_;
  StepsRow row_;
  ReadFn read_scale_, read_zero_;
  int64_t scale_step_, zero_step_;
};

StepsRow choose(const KernelRequest& r, const QuantizeRequest& q) {
  const QuantizeRows rows = find_quantize_rows();
  if (r.op == "quantize_linear") {
    if (q.x_dtype != DType::F32) return nullptr;
    return q.y_dtype == DType::U8 ? rows.to_u8 : q.y_dtype == DType::I8 ? rows.to_i8 : nullptr;
  }
  if (q.y_dtype != DType::F32) return nullptr;
  if (r.op == "fake_quantize") return rows.fake;
  if (q.x_dtype == DType::I32) return q.zero_dtype == DType::None ? rows.from_i32 : nullptr;
  const bool small = q.zero_dtype == DType::None || dtype_size(q.zero_dtype) < 4;
  if (!small) return nullptr;
  return q.x_dtype == DType::U8 ? rows.from_u8 : q.x_dtype == DType::I8 ? rows.from_i8 : nullptr;
}

std::unique_ptr<Kernel> prepare(const KernelRequest& r, std::string& why_not) {
  QuantizeRequest q = read_quantize_request(r);
  const StepsRow row = choose(r, q);
  if (!row) return why_not = "needs f32 with 8-bit integers", nullptr;
  if (!q.dense || (q.channels > 1 && q.length < 8))
    return why_not = "elements of one scale are not side by side", nullptr;
  return std::make_unique<Rows>(std::move(q), row);
}

const RegisterKernel registered[] = {
    RegisterKernel({"quantize_linear", "simd", DeviceType::CPU, 10, &prepare}),
    RegisterKernel({"dequantize_linear", "simd", DeviceType::CPU, 10, &prepare}),
    RegisterKernel({"fake_quantize", "simd", DeviceType::CPU, 10, &prepare}),
};

}  // namespace
}  // namespace hw
