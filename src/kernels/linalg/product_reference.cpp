// Reference matrix products: three plain loops, every dtype but bool.
#include <type_traits>

#include "core/visit.h"
#include "kernels/linalg/product.h"

namespace hw {

template <class T>
constexpr bool is_complex_type = std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;

/// Sums in double for floats; wraps around in 64 bits for integers, as torch does in its own type.
template <class T>
using Sum = std::conditional_t<is_complex_type<T>, std::complex<double>,
                               std::conditional_t<std::is_integral_v<T>, uint64_t, double>>;

namespace {

template <class T>
Sum<T> widen(T value) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<uint64_t>(static_cast<int64_t>(value));
  else if constexpr (is_complex_type<T>)
    return std::complex<double>(value.real(), value.imag());
  else
    return static_cast<double>(value);
}

template <class T>
T narrow(Sum<T> value) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(value);
  else if constexpr (is_complex_type<T>)
    return T(static_cast<typename T::value_type>(value.real()), static_cast<typename T::value_type>(value.imag()));
  else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
    return T(static_cast<float>(value));
  else
    return static_cast<T>(value);
}

template <class T>
Sum<T> factor(const AttrValue& value) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<uint64_t>(value.scalar().i64());
  else if constexpr (is_complex_type<T>)
    return value.scalar().c128();
  else
    return value.scalar().f64();
}

template <class T>
class ReferenceProduct final : public Kernel {
 public:
  ReferenceProduct(const KernelRequest& request, const ProductRequest& r) : r_(r), x_(request.inputs[r.a]) {
    if (request.op == "addmm" || request.op == "baddbmm")
      beta_ = factor<T>(request.attrs[0]), alpha_ = factor<T>(request.attrs[1]);
  }
  size_t scratch_bytes() const override { return r_.gather_a ? static_cast<size_t>(x_.numel()) * sizeof(T) : 0; }
  void run(const KernelArgs& args) const override {
    const Product& p = r_.product;
    auto* a = static_cast<const T*>(args.inputs[r_.a]);
    auto* b = static_cast<const T*>(args.inputs[r_.b]);
    auto* input = p.has_input ? static_cast<const T*>(args.inputs[r_.input]) : nullptr;
    auto* c = static_cast<T*>(args.outputs[0]);
    if (r_.gather_a) {
      gather(a, x_, args.scratch);
      a = static_cast<const T*>(args.scratch);
    }
    for (int64_t batch = 0; batch < p.batch; ++batch)
      for (int64_t i = 0; i < p.m; ++i)
        for (int64_t j = 0; j < p.n; ++j) {
          Sum<T> sum{};
          const T *row = a + batch * p.a_batch + i * p.a_row, *column = b + batch * p.b_batch + j * p.b_col;
          for (int64_t q = 0; q < p.k; ++q) sum += widen<T>(row[q * p.a_col]) * widen<T>(column[q * p.b_row]);
          sum *= alpha_;
          if (input) sum += beta_ * widen<T>(input[batch * p.input_batch + i * p.input_row + j * p.input_col]);
          c[batch * p.c_batch + i * p.c_row + j * p.c_col] = narrow<T>(sum);
        }
  }

 private:
  ProductRequest r_;
  TensorSpec x_;
  Sum<T> alpha_{1}, beta_{1};
};

std::unique_ptr<Kernel> prepare(const KernelRequest& request, std::string& why_not) {
  ProductRequest r;
  if (!read_product(request, r, why_not)) return nullptr;
  if (r.product.dtype == DType::Bool) {
    why_not = "does not multiply booleans";
    return nullptr;
  }
  return visit_dtype(r.product.dtype, [&]<class T>(Type<T>) -> std::unique_ptr<Kernel> {
    if constexpr (std::is_same_v<T, bool>)
      return nullptr;
    else
      return std::make_unique<ReferenceProduct<T>>(request, r);
  });
}

const RegisterKernel mm({"mm", "reference", DeviceType::CPU, kReferencePriority, &prepare});
const RegisterKernel bmm({"bmm", "reference", DeviceType::CPU, kReferencePriority, &prepare});
const RegisterKernel addmm({"addmm", "reference", DeviceType::CPU, kReferencePriority, &prepare});
const RegisterKernel baddbmm({"baddbmm", "reference", DeviceType::CPU, kReferencePriority, &prepare});
const RegisterKernel linear({"linear", "reference", DeviceType::CPU, kReferencePriority, &prepare});

}  // namespace
}  // namespace hw
