// Reads _linear_int8; the reference kernels: plain loops over integers.
#include "kernels/linalg/int8_linear.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/isa.h"

namespace hw {

int64_t int8_width() { return isa() == Isa::AVX512 ? 32 : 16; }

bool read_int8_linear(const KernelRequest& request, Int8Linear& out, std::string& why_not) {
  const TensorSpec &x = request.inputs[0], &packed = request.inputs[1];
  out = {};
  for (const TensorSpec& s : request.inputs)
    if (s.given() && !s.contiguous()) why_not = "an operand is not contiguous";
  if (!request.outputs[0].contiguous()) why_not = "the output is not contiguous";
  if (!why_not.empty()) return false;
  out.k = x.shape.back(), out.n = request.attrs[0].i64(), out.m = 1;
  for (int64_t axis = 0; axis + 1 < x.ndim(); ++axis) out.m *= x.shape[static_cast<size_t>(axis)];
  out.width = packed.shape[2];
  out.is_signed = x.dtype == DType::I8;
  out.has_offset = request.inputs[3].given();
  out.has_out_zero = request.inputs[5].given();
  out.relu = request.attrs[1].text() == "relu";
  out.out = request.outputs[0].dtype;
  return true;
}

Int8Finish int8_finish(const Int8Linear& p, const KernelArgs& args) {
  Int8Finish f;
  f.scale = static_cast<const float*>(args.inputs[2]);
  if (p.has_offset) f.offset = static_cast<const float*>(args.inputs[3]);
  if (p.out == DType::F32) return f;
  f.out_scale = *static_cast<const float*>(args.inputs[4]);
  const bool is_signed = p.out == DType::I8;
  f.low = is_signed ? -128.0f : 0.0f, f.high = is_signed ? 127.0f : 255.0f;
  if (p.has_out_zero)
    f.zero = is_signed ? static_cast<float>(*static_cast<const int8_t*>(args.inputs[5]))
                       : static_cast<float>(*static_cast<const uint8_t*>(args.inputs[5]));
  return f;
}

namespace {

class PackReference final : public Kernel {
 public:
  PackReference(const TensorSpec& w, int64_t width) : row_(w.strides[0]), column_(w.strides[1]) {
    p_.n = w.shape[0], p_.k = w.shape[1], p_.width = width;
  }
  void run(const KernelArgs& args) const override {
    const auto* w = static_cast<const int8_t*>(args.inputs[0]);
    auto* packed = static_cast<int8_t*>(args.outputs[0]);
    std::memset(packed, 0, static_cast<size_t>(p_.panels() * p_.pairs() * p_.width * 2));
    for (int64_t o = 0; o < p_.n; ++o)
      for (int64_t i = 0; i < p_.k; ++i) packed[p_.packed_index(o, i)] = w[o * row_ + i * column_];
  }

 private:
  Int8Linear p_;
  int64_t row_, column_;
};

class Int8Reference final : public Kernel {
 public:
  explicit Int8Reference(const Int8Linear& p) : p_(p) {}
  void run(const KernelArgs& args) const override {
    const auto* w = static_cast<const int8_t*>(args.inputs[1]);
    const Int8Finish f = int8_finish(p_, args);
    for (int64_t r = 0; r < p_.m; ++r)
      for (int64_t o = 0; o < p_.n; ++o) {
        int32_t sum = 0;
        for (int64_t i = 0; i < p_.k; ++i) sum += input(args, r * p_.k + i) * w[p_.packed_index(o, i)];
        float v = static_cast<float>(sum) * f.scale[o];
        if (f.offset) v = v + f.offset[o];
        if (p_.relu) v = std::max(v, 0.0f);
        store(args.outputs[0], r * p_.n + o, v, f);
      }
  }

 private:
  int32_t input(const KernelArgs& args, int64_t i) const {
    return p_.is_signed ? static_cast<const int8_t*>(args.inputs[0])[i]
                        : static_cast<const uint8_t*>(args.inputs[0])[i];
  }
  void store(void* y, int64_t i, float v, const Int8Finish& f) const {
    if (p_.out == DType::F32) {
      static_cast<float*>(y)[i] = v;
      return;
    }
    const float q = std::min(f.high, std::max(f.low, std::nearbyint(v / f.out_scale) + f.zero));
    if (p_.out == DType::I8)
      static_cast<int8_t*>(y)[i] = static_cast<int8_t>(q);
    else
      static_cast<uint8_t*>(y)[i] = static_cast<uint8_t>(q);
  }

  Int8Linear p_;
};

std::unique_ptr<Kernel> prepare_pack(const KernelRequest& request, std::string&) {
  return std::make_unique<PackReference>(request.inputs[0], request.attrs[0].i64());
}

std::unique_ptr<Kernel> prepare_linear(const KernelRequest& request, std::string& why_not) {
  Int8Linear p;
  if (!read_int8_linear(request, p, why_not)) return nullptr;
  return std::make_unique<Int8Reference>(p);
}

const RegisterKernel pack({"_pack_int8_weight", "reference", DeviceType::CPU, kReferencePriority, &prepare_pack});
const RegisterKernel linear({"_linear_int8", "reference", DeviceType::CPU, kReferencePriority, &prepare_linear});

}  // namespace
}  // namespace hw
