// The values of an operator's arguments that are not tensors, by position.
#pragma once

#include <string>
#include <vector>

#include "core/dtype.h"
#include "core/scalar.h"
#include "core/shape.h"

namespace hw {

class AttrValue {
 public:
  enum class Kind : uint8_t { None, Bool, Int, Float, Scalar, Text, Ints, Floats, DType };
  AttrValue() = default;
  AttrValue(const AttrValue&);  // not inline: long, and copied in many places
  AttrValue& operator=(const AttrValue&);
  AttrValue(AttrValue&&) = default;
  AttrValue& operator=(AttrValue&&) = default;
  ~AttrValue() = default;
  AttrValue(bool v) : kind_(Kind::Bool), scalar_(v) {}
  AttrValue(int v) : AttrValue(static_cast<int64_t>(v)) {}
  AttrValue(int64_t v) : kind_(Kind::Int), scalar_(v) {}
  AttrValue(double v) : kind_(Kind::Float), scalar_(v) {}
  AttrValue(hw::Scalar v) : kind_(Kind::Scalar), scalar_(v) {}
  AttrValue(const char* v);
  AttrValue(std::string v) : kind_(Kind::Text), text_(std::move(v)) {}
  AttrValue(Dims v) : kind_(Kind::Ints), ints_(std::move(v)) {}
  AttrValue(std::vector<double> v) : kind_(Kind::Floats), floats_(std::move(v)) {}
  AttrValue(hw::DType v) : kind_(Kind::DType), dtype_(v) {}

  Kind kind() const { return kind_; }
  bool none() const { return kind_ == Kind::None; }
  bool truth() const { return scalar_.truth(); }
  int64_t i64() const { return scalar_.i64(); }
  double f64() const { return scalar_.f64(); }
  const hw::Scalar& scalar() const { return scalar_; }
  const std::string& text() const { return text_; }
  const Dims& ints() const { return ints_; }
  const std::vector<double>& floats() const { return floats_; }
  hw::DType dtype() const { return dtype_; }
  bool operator==(const AttrValue&) const = default;
  size_t hash() const;

 private:
  Kind kind_ = Kind::None;
  hw::DType dtype_ = hw::DType::None;
  hw::Scalar scalar_;
  Dims ints_;
  std::string text_;
  std::vector<double> floats_;
};

void append_text(std::string& out, const AttrValue& value);

using Attrs = std::vector<AttrValue>;

}  // namespace hw
