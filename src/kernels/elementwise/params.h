// The attributes of an op as a functor reads them. Included once per instruction set.
#include "kernels/elementwise/functor.h"
#include "kernels/simd/arithmetic.h"

#if defined(HW_KERNELS_ELEMENTWISE_PARAMS_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HW_KERNELS_ELEMENTWISE_PARAMS_H
#undef HW_KERNELS_ELEMENTWISE_PARAMS_H
#else
#define HW_KERNELS_ELEMENTWISE_PARAMS_H
#endif

HWY_BEFORE_NAMESPACE();
namespace hw {
namespace HWY_NAMESPACE {

/// Held by value in the loop, so that no store can be thought to change them and they stay in registers.
struct Params {
  LoopParams values;

  template <class T>
  HWY_INLINE T get(size_t i) const {
    if constexpr (Integer<T>)  // a bound beyond the type's range means its end
      return static_cast<T>(
          std::clamp<int64_t>(values[i].i, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
    else if constexpr (Complex<T>)
      return T(static_cast<typename T::value_type>(values[i].f));
    else
      return T(values[i].f);
  }
  /// The attribute, or `otherwise` where it is None.
  template <class T>
  HWY_INLINE T get_or(size_t i, T otherwise) const {
    return values[i].given ? get<T>(i) : otherwise;
  }
  HWY_INLINE bool given(size_t i) const { return values[i].given; }
};

HWY_INLINE Params local_params(const LoopParam* p) {
  Params params;
  if (p)
    for (size_t i = 0; i < params.values.size(); ++i) params.values[i] = p[i];
  return params;
}

}  // namespace HWY_NAMESPACE
}  // namespace hw
HWY_AFTER_NAMESPACE();
#endif
