// Conversions between all twelve dtypes.
#include "kernels/loops/convert.h"

#include <algorithm>
#include <cstring>

#include "core/visit.h"
#include "kernels/loops/convert_value.h"

namespace hw {

template <class From, class To>
static void convert(const void* src, int64_t src_stride, void* dst, int64_t dst_stride, int64_t n) {
  const From* __restrict s = static_cast<const From*>(src);
  To* __restrict d = static_cast<To*>(dst);
  if (src_stride == 1 && dst_stride == 1) {
    if constexpr (std::is_same_v<From, To>) {
      if (n > 0) std::memcpy(d, s, static_cast<size_t>(n) * sizeof(To));
    } else {
      for (int64_t k = 0; k < n; ++k) d[k] = convert_value<To>(s[k]);
    }
  } else if (src_stride == 0) {
    const To value = convert_value<To>(s[0]);
    if (dst_stride == 1)
      std::fill_n(d, n, value);
    else
      for (int64_t k = 0; k < n; ++k) d[k * dst_stride] = value;
  } else if (src_stride == -1 && dst_stride == 1) {  // flip
    for (int64_t k = 0; k < n; ++k) d[k] = convert_value<To>(s[-k]);
  } else if (dst_stride == 1) {
    for (int64_t k = 0; k < n; ++k) d[k] = convert_value<To>(s[k * src_stride]);
  } else {
    for (int64_t k = 0; k < n; ++k) d[k * dst_stride] = convert_value<To>(s[k * src_stride]);
  }
}

/// Same dtype: only the size matters.
static ConvertFn find_move(DType d) {
  return visit_size(dtype_size(d), []<class T>(Type<T>) -> ConvertFn { return &convert<T, T>; });
}

ConvertFn find_convert(DType from, DType to) {
  if (from == to) return find_move(from);
  return visit_dtype(from, [&]<class From>(Type<From>) -> ConvertFn {
    return visit_dtype(to, []<class To>(Type<To>) -> ConvertFn { return &convert<From, To>; });
  });
}

}  // namespace hw
