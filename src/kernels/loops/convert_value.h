// One element from one dtype to another, as torch's `to` does it. No undefined behaviour for any input.
#pragma once

#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/half.h"

namespace hw {

template <class T>
constexpr bool is_half_type = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;
template <class T>
constexpr bool is_complex_type = std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;

/// Truncates toward zero. Beyond the range of I: the nearest end; NaN: the lower end. Written so that it vectorises.
template <class I, class F>
inline I truncate_saturated(F x) {
  constexpr F low = static_cast<F>(std::numeric_limits<I>::min());
  constexpr F end = -low;  // max + 1, exact
  // The largest F below `end`.
  constexpr F high = std::numeric_limits<F>::digits >= std::numeric_limits<I>::digits
                         ? static_cast<F>(std::numeric_limits<I>::max())
                         : end - end / static_cast<F>(uint64_t{1} << std::numeric_limits<F>::digits);
  F clamped = x > low ? x : low;
  clamped = clamped < high ? clamped : high;
  const I r = static_cast<I>(clamped);
  return x >= end ? std::numeric_limits<I>::max() : r;
}

template <class To, class From>
inline To convert_value(From x) {
  if constexpr (std::is_same_v<To, From>) {
    return x;
  } else if constexpr (is_half_type<From>) {
    return convert_value<To>(static_cast<float>(x));
  } else if constexpr (is_complex_type<From>) {
    if constexpr (is_complex_type<To>)
      return To(static_cast<typename To::value_type>(x.real()), static_cast<typename To::value_type>(x.imag()));
    else if constexpr (std::is_same_v<To, bool>)
      return x.real() != 0 || x.imag() != 0;
    else
      return convert_value<To>(x.real());
  } else if constexpr (is_complex_type<To>) {
    return To(convert_value<typename To::value_type>(x));
  } else if constexpr (std::is_same_v<To, bool>) {
    return x != From(0);
  } else if constexpr (is_half_type<To>) {
    return To(static_cast<float>(x));
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    // Narrow integers wrap, as in torch: -1.0 becomes 255 in uint8.
    if constexpr (sizeof(To) < 4)
      return static_cast<To>(truncate_saturated<int32_t>(x));
    else
      return truncate_saturated<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

}  // namespace hw
