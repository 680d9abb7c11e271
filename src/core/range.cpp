// Which numbers a dtype can hold.
#include "core/range.h"

#include <cmath>

namespace hw {

/// The greatest finite value of a floating dtype.
static double greatest(DType dtype) {
  switch (dtype) {
    case DType::F16: return 65504.0;
    case DType::BF16: return 3.3895313892515355e38;
    case DType::F32:
    case DType::C64: return 3.4028234663852886e38;
    default: return 1.7976931348623157e308;
  }
}

bool fits(const Scalar& value, DType dtype) {
  if (dtype == DType::Bool) return true;
  if (value.kind() == Scalar::Kind::Complex && !is_complex(dtype) && value.c128().imag() != 0) return false;
  const double v = value.f64();
  if (is_inexact(dtype)) return !(std::isfinite(v) && std::fabs(v) > greatest(dtype));
  const int bits = static_cast<int>(dtype_size(dtype)) * 8;
  const double high = std::ldexp(1.0, dtype == DType::U8 ? 8 : bits - 1);  // the first that is too large
  const double low = dtype == DType::U8 ? -high : -high - 1;               // the first that is too small
  if (bits == 64) return value.kind() == Scalar::Kind::Int || (v >= -high && v < high);
  return v > low && v < high;
}

}  // namespace hw
