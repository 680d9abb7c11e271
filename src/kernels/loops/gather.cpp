// Gathering of short rows, vectorised by the compiler per instruction set.
#include "kernels/loops/gather.h"

#include <complex>
#include <cstring>

#include "kernels/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/loops/gather.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace hw {
namespace HWY_NAMESPACE {

/// In steps of 16 elements, up to 15 beyond the end.
template <class T>
HWY_INLINE void fill_past(T* d, int64_t n, T value) {
  for (int64_t k = 0; k < n; k += 16)
    for (int64_t j = 0; j < 16; ++j) d[k + j] = value;
}

template <class T>
static void gather(const void* source, int64_t stride, void* target, int64_t length, int64_t rows, int64_t row_stride) {
  const T* __restrict s = static_cast<const T*>(source);
  T* __restrict d = static_cast<T*>(target);
  for (int64_t r = 0; r < rows; ++r, s += row_stride, d += length) {
    if (stride == 0) {
      fill_past(d, length, s[0]);
    } else if (stride == 1 && length * static_cast<int64_t>(sizeof(T)) >= 32) {
      std::memcpy(d, s, static_cast<size_t>(length) * sizeof(T));
    } else if (stride == 1) {
      for (int64_t k = 0; k < length; ++k) {
        d[k] = s[k];
        asm volatile("");  // or the compiler makes a call of it, which costs more than a row of three
      }
    } else {
      for (int64_t k = 0; k < length; ++k) d[k] = s[k * stride];
    }
  }
}

GatherFn gather_of(int64_t bytes) {
  switch (bytes) {
    case 1: return &gather<uint8_t>;
    case 2: return &gather<uint16_t>;
    case 4: return &gather<uint32_t>;
    case 8: return &gather<uint64_t>;
    default: return &gather<std::complex<double>>;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace hw
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hw {
HWY_EXPORT(gather_of);
GatherFn find_gather(int64_t bytes) { return HWY_DYNAMIC_DISPATCH(gather_of)(bytes); }
}  // namespace hw
#endif
