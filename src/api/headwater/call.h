// What the typed operator functions are made of: arguments that are tensors or numbers, and calls.
#pragma once

#include <array>

#include "base/error.h"
#include "op/call.h"
#include "op/math.h"

namespace headwater {

using hw::AttrValue;
using hw::Dims;
using hw::DType;
using hw::dtype_from_name;
using hw::Error;
using hw::ErrorKind;
using hw::Scalar;
using hw::Tensor;
using hw::Tensors;

/// A tensor argument; a number stands for a 0-d tensor that gives way in type promotion. Empty: not given.
struct Input {
  Input() = default;
  Input(const Tensor& t) : value(t) {}
  Input(double v) : value(hw::number(Scalar(v))) {}
  Input(float v) : Input(static_cast<double>(v)) {}
  Input(int v) : value(hw::number(Scalar(v))) {}
  Input(int64_t v) : value(hw::number(Scalar(v))) {}
  Input(bool v) : value(hw::number(Scalar(v))) {}
  Tensor value;
};

namespace detail {

inline Tensor call_inplace(const hw::Op& op, const Tensors& in, std::initializer_list<AttrValue> attrs) {
  return op.inplace(std::span<const Tensor>(in), attrs);
}

template <size_t N>
std::array<Tensor, N> first(const hw::Op& op, const Tensors& in, std::initializer_list<AttrValue> attrs) {
  Tensors all = op.all(std::span<const Tensor>(in), attrs);
  std::array<Tensor, N> out;
  for (size_t i = 0; i < N; ++i) out[i] = all.at(i);
  return out;
}

}  // namespace detail

}  // namespace headwater
