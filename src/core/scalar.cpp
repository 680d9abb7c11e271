// Python numbers.
#include "core/scalar.h"

#include <limits>

#include "base/text.h"

namespace hw {

DType Scalar::dtype() const {
  switch (kind_) {
    case Kind::Bool: return DType::Bool;
    case Kind::Int: return DType::I64;
    case Kind::Float: return default_dtype();
    case Kind::Complex: return complex_dtype(default_dtype());
  }
  return DType::None;
}

int64_t Scalar::saturate(double v) {
  if (!(v >= -9223372036854775808.0)) return v != v ? 0 : std::numeric_limits<int64_t>::min();
  if (v >= 9223372036854775808.0) return std::numeric_limits<int64_t>::max();
  return static_cast<int64_t>(v);
}

void Scalar::append_to(std::string& out) const {
  switch (kind_) {
    case Kind::Bool: return out.append(i_ ? "True" : "False"), void();
    case Kind::Int: return append_signed(out, i_);
    case Kind::Float: return append_double(out, re_);
    case Kind::Complex:
      out.push_back('(');
      append_double(out, re_);
      if (!(im_ < 0)) out.push_back('+');
      append_double(out, im_);
      out.append("j)");
  }
}

}  // namespace hw
