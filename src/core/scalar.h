// A Python number: bool, int, float or complex, with its kind.
#pragma once

#include <complex>
#include <cstdint>
#include <string>

#include "core/dtype.h"

namespace hw {

class Scalar {
 public:
  enum class Kind : uint8_t { Bool, Int, Float, Complex };
  Scalar() = default;
  Scalar(bool v) : kind_(Kind::Bool), i_(v), re_(v) {}
  Scalar(int v) : Scalar(static_cast<int64_t>(v)) {}
  Scalar(int64_t v) : kind_(Kind::Int), i_(v), re_(static_cast<double>(v)) {}
  Scalar(double v) : kind_(Kind::Float), i_(saturate(v)), re_(v) {}
  Scalar(std::complex<double> v) : kind_(Kind::Complex), i_(saturate(v.real())), re_(v.real()), im_(v.imag()) {}

  Kind kind() const { return kind_; }
  double f64() const { return re_; }
  int64_t i64() const { return i_; }
  std::complex<double> c128() const { return {re_, im_}; }
  bool truth() const { return i_ != 0 || re_ != 0 || im_ != 0; }
  /// The dtype of a tensor made of this number alone: bool, i64, the default dtype, or its complex type.
  DType dtype() const;
  bool operator==(const Scalar& o) const {
    return kind_ == o.kind_ && i_ == o.i_ && (re_ == o.re_ || (re_ != re_ && o.re_ != o.re_)) && im_ == o.im_;
  }
  void append_to(std::string& out) const;

 private:
  static int64_t saturate(double v);

  Kind kind_ = Kind::Int;
  int64_t i_ = 0;
  double re_ = 0, im_ = 0;
};

inline void append_text(std::string& out, const Scalar& s) { s.append_to(out); }

}  // namespace hw
