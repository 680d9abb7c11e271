// From a DType at run time to a C++ type at compile time. For .cpp files of kernels; each call instantiates its body per type.
#pragma once

#include <complex>

#include "base/error.h"
#include "core/dtype.h"
#include "core/half.h"

namespace hw {

template <class T>
struct Type {
  using type = T;
};

/// visit_dtype(d, [&]<class T>(Type<T>) {...}) over all twelve types.
template <class F>
decltype(auto) visit_dtype(DType d, F&& f) {
  switch (d) {
    case DType::Bool: return f(Type<bool>{});
    case DType::U8: return f(Type<uint8_t>{});
    case DType::I8: return f(Type<int8_t>{});
    case DType::I16: return f(Type<int16_t>{});
    case DType::I32: return f(Type<int32_t>{});
    case DType::I64: return f(Type<int64_t>{});
    case DType::F16: return f(Type<Half>{});
    case DType::BF16: return f(Type<BFloat16>{});
    case DType::F32: return f(Type<float>{});
    case DType::F64: return f(Type<double>{});
    case DType::C64: return f(Type<std::complex<float>>{});
    case DType::C128: return f(Type<std::complex<double>>{});
    case DType::None: break;
  }
  bug("a tensor without dtype reached a kernel");
}

/// By size only: for kernels that move bytes. Unsigned integer types of 1, 2, 4 and 8 bytes, complex<double> for 16.
template <class F>
decltype(auto) visit_size(int64_t bytes, F&& f) {
  switch (bytes) {
    case 1: return f(Type<uint8_t>{});
    case 2: return f(Type<uint16_t>{});
    case 4: return f(Type<uint32_t>{});
    case 8: return f(Type<uint64_t>{});
    default: return f(Type<std::complex<double>>{});
  }
}

/// f16, bf16, f32, f64.
template <class F>
decltype(auto) visit_floating(DType d, F&& f) {
  switch (d) {
    case DType::F16: return f(Type<Half>{});
    case DType::BF16: return f(Type<BFloat16>{});
    case DType::F32: return f(Type<float>{});
    case DType::F64: return f(Type<double>{});
    default: bug("a kernel for floating types got ", d);
  }
}

/// The type to accumulate in: float for 16-bit floats, else itself.
template <class T>
using Accumulate = std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>, float, T>;

}  // namespace hw
