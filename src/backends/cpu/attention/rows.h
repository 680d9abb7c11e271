// Row operations of attention, for the instruction set in use.
#pragma once

#include <cstdint>

namespace hw {

template <class T>
struct AttentionRows {
  /// s = exp(s - top) for the greater of `top` and the row's maximum, which becomes `top`; returns the sum of s.
  T (*exponentials)(T* s, int64_t n, T& top);
  /// x *= factor
  void (*scale)(T* x, int64_t n, T factor);
  /// p = exp(p - lse), ds = p * (ds - mean)
  void (*gradient)(T* p, T* ds, int64_t n, T lse, T mean);
  T (*dot)(const T* a, const T* b, int64_t n);
};

AttentionRows<float> attention_rows(float);
AttentionRows<double> attention_rows(double);

}  // namespace hw
