// Reads _conv2d_int8; the reference kernels: plain loops over integers.
#include "kernels/conv/int8_conv.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace hw {

namespace {

constexpr size_t kZero = 3, kOffset = 4, kResidual = 5, kResidualScale = 6, kResidualZero = 7, kOutScale = 8,
                 kOutZero = 9;

int32_t byte_at(const void* data, DType dtype, int64_t i) {
  return dtype == DType::I8 ? static_cast<const int8_t*>(data)[i] : static_cast<const uint8_t*>(data)[i];
}

int64_t of_axis(const AttrValue& attr, size_t a) {
  const Dims& values = attr.ints();
  return values[values.size() == 1 ? 0 : a];
}

}  // namespace

bool read_int8_conv(const KernelRequest& request, Int8Conv& p, std::string& why_not) {
  const TensorSpec &x = request.inputs[0], &w = request.inputs[1], &y = request.outputs[0];
  p = {};
  for (const TensorSpec& s : request.inputs)
    if (s.given() && !s.contiguous()) why_not = "an operand is not contiguous";
  p.keeps_floats = request.outputs.size() > 1;
  for (const TensorSpec& s : request.outputs)
    if (!s.contiguous()) why_not = "the output is not contiguous";
  if (!why_not.empty()) return false;
  p.images.block_in = x.ndim() == 5 ? x.shape[4] : 1;
  p.images.block_out = y.shape[4];
  p.depthwise = p.images.depthwise = w.ndim() == 4;
  ConvGeometry& g = p.images.geometry;
  g.ndim = 2;
  g.batch = x.shape[0], g.in_channels = x.shape[1] * p.images.block_in, g.out_channels = request.attrs[0].i64();
  g.groups = p.depthwise ? g.in_channels : 1;
  for (size_t a = 0; a < 2; ++a) {
    g.in[a + 1] = x.shape[a + 2], g.out[a + 1] = y.shape[a + 2], g.kernel[a + 1] = of_axis(request.attrs[1], a);
    g.stride[a + 1] = of_axis(request.attrs[2], a), g.padding[a + 1] = of_axis(request.attrs[3], a);
    g.dilation[a + 1] = of_axis(request.attrs[4], a);
  }
  p.is_signed = x.dtype == DType::I8;
  p.has_zero = request.inputs[kZero].given(), p.has_offset = request.inputs[kOffset].given();
  p.has_residual = request.inputs[kResidual].given();
  if (p.has_residual) p.residual = request.inputs[kResidual].dtype;
  p.has_residual_zero = request.inputs[kResidualZero].given();
  p.has_out_zero = request.inputs[kOutZero].given();
  p.has_range = request.attrs[5].text() != "none";
  p.high = std::numeric_limits<float>::infinity();
  if (request.attrs[5].text() == "clamp")
    p.low = static_cast<float>(request.attrs[7].f64()), p.high = static_cast<float>(request.attrs[8].f64());
  p.out = request.outputs.back().dtype;
  return true;
}

int32_t int8_conv_zero(const Int8Conv& p, const KernelArgs& args) {
  return p.has_zero ? byte_at(args.inputs[kZero], p.is_signed ? DType::I8 : DType::U8, 0) : 0;
}

Int8ConvFinish int8_conv_finish(const Int8Conv& p, const KernelArgs& args) {
  Int8ConvFinish f;
  f.y = args.outputs[p.keeps_floats ? 1 : 0];
  if (p.keeps_floats) f.floats = static_cast<float*>(args.outputs[0]);
  f.number.scale = static_cast<const float*>(args.inputs[2]);
  if (p.has_offset) f.number.offset = static_cast<const float*>(args.inputs[kOffset]);
  if (p.has_residual) f.residual = args.inputs[kResidual];
  if (p.has_residual && p.residual != DType::F32) {
    f.residual_scale = *static_cast<const float*>(args.inputs[kResidualScale]);
    if (p.has_residual_zero) f.residual_zero = byte_at(args.inputs[kResidualZero], p.residual, 0);
  }
  if (p.out == DType::F32) return f;
  f.number.out_scale = *static_cast<const float*>(args.inputs[kOutScale]);
  f.number.low = p.out == DType::I8 ? -128.0f : 0.0f, f.number.high = p.out == DType::I8 ? 127.0f : 255.0f;
  if (p.has_out_zero) f.number.zero = static_cast<float>(byte_at(args.inputs[kOutZero], p.out, 0));
  return f;
}

namespace {

class PackReference final : public Kernel {
 public:
  PackReference(const TensorSpec& w, size_t bytes) : strides_(w.strides), bytes_(bytes) {
    ConvGeometry& g = p_.images.geometry;
    g.out_channels = w.shape[0], g.in_channels = w.shape[1];
    g.kernel[1] = w.shape[2], g.kernel[2] = w.shape[3];
  }
  void depthwise() { p_.depthwise = true; }
  void run(const KernelArgs& args) const override {
    const auto* w = static_cast<const int8_t*>(args.inputs[0]);
    auto* packed = static_cast<int8_t*>(args.outputs[0]);
    std::memset(packed, 0, bytes_);
    const ConvGeometry& g = p_.geometry();
    for (int64_t o = 0; o < g.out_channels; ++o)
      for (int64_t c = 0; c < g.in_channels; ++c)
        for (int64_t k = 0; k < g.kernel[1]; ++k)
          for (int64_t l = 0; l < g.kernel[2]; ++l)
            packed[p_.weight_at(o, c, k * g.kernel[2] + l)] =
                w[o * strides_[0] + c * strides_[1] + k * strides_[2] + l * strides_[3]];
  }

 private:
  Int8Conv p_;
  Dims strides_;
  size_t bytes_;
};

class ConvReference final : public Kernel {
 public:
  explicit ConvReference(const Int8Conv& p) : p_(p), g_(p_.geometry()) {}
  void run(const KernelArgs& args) const override {
    const Int8ConvFinish f = int8_conv_finish(p_, args);
    const int32_t zero = int8_conv_zero(p_, args);
    for (int64_t n = 0; n < g_.batch; ++n)
      for (int64_t o = 0; o < g_.out_channels; ++o)
        for (int64_t row = 0; row < g_.out[1]; ++row)
          for (int64_t column = 0; column < g_.out[2]; ++column)
            store(p_.images.output_at(n, o, row, column), sum(args, zero, n, o, row, column), o, f);
  }

 private:
  int32_t sum(const KernelArgs& args, int32_t zero, int64_t n, int64_t o, int64_t row, int64_t column) const {
    const auto* w = static_cast<const int8_t*>(args.inputs[1]);
    int32_t sum = 0;
    for (int64_t k = 0; k < g_.kernel[1]; ++k)
      for (int64_t l = 0; l < g_.kernel[2]; ++l) {
        const int64_t i = row * g_.stride[1] + k * g_.dilation[1] - g_.padding[1],
                      j = column * g_.stride[2] + l * g_.dilation[2] - g_.padding[2];
        if (i < 0 || i >= g_.in[1] || j < 0 || j >= g_.in[2]) continue;
        for (int64_t c = 0; c < g_.group_in(); ++c) {
          const int64_t at = p_.images.input_at(n, p_.depthwise ? o : c, i, j);
          sum += (byte_at(args.inputs[0], p_.is_signed ? DType::I8 : DType::U8, at) - zero) *
                 w[p_.weight_at(o, c, k * g_.kernel[2] + l)];
        }
      }
    return sum;
  }

  void store(int64_t at, int32_t sum, int64_t o, const Int8ConvFinish& f) const {
    float v = static_cast<float>(sum) * f.number.scale[o];
    if (f.number.offset) v = v + f.number.offset[o];
    if (f.residual && p_.residual == DType::F32) v = v + static_cast<const float*>(f.residual)[at];
    if (f.residual && p_.residual != DType::F32)
      v = v + static_cast<float>(byte_at(f.residual, p_.residual, at) - f.residual_zero) * f.residual_scale;
    if (p_.has_range) v = std::min(std::max(v, p_.low), p_.high);
    if (f.floats) f.floats[at] = v;
    if (p_.out == DType::F32) {
      static_cast<float*>(f.y)[at] = v;
      return;
    }
    const Int8Finish& q = f.number;
    const float steps = std::min(q.high, std::max(q.low, std::nearbyint(v / q.out_scale) + q.zero));
    if (p_.out == DType::I8)
      static_cast<int8_t*>(f.y)[at] = static_cast<int8_t>(steps);
    else
      static_cast<uint8_t*>(f.y)[at] = static_cast<uint8_t>(steps);
  }

  Int8Conv p_;
  ConvGeometry g_;
};

std::unique_ptr<Kernel> prepare_pack(const KernelRequest& request, std::string&) {
  auto kernel = std::make_unique<PackReference>(request.inputs[0], static_cast<size_t>(request.outputs[0].numel()));
  if (request.outputs[0].ndim() == 4) kernel->depthwise();
  return kernel;
}

std::unique_ptr<Kernel> prepare_conv(const KernelRequest& request, std::string& why_not) {
  Int8Conv p;
  if (!read_int8_conv(request, p, why_not)) return nullptr;
  return std::make_unique<ConvReference>(p);
}

const RegisterKernel pack({"_pack_int8_conv_weight", "reference", DeviceType::CPU, kReferencePriority, &prepare_pack});
const RegisterKernel conv({"_conv2d_int8", "reference", DeviceType::CPU, kReferencePriority, &prepare_conv});
const RegisterKernel both({"_conv2d_int8_both", "reference", DeviceType::CPU, kReferencePriority, &prepare_conv});

}  // namespace
}  // namespace hw
