// Loops from functors: SIMD for floats, plain loops (vectorised by the compiler) for the rest. Included once per instruction set.
#include <cstring>
#include <utility>

#include "kernels/elementwise/params.h"

#if defined(HW_KERNELS_ELEMENTWISE_MAKE_LOOPS_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HW_KERNELS_ELEMENTWISE_MAKE_LOOPS_H
#undef HW_KERNELS_ELEMENTWISE_MAKE_LOOPS_H
#else
#define HW_KERNELS_ELEMENTWISE_MAKE_LOOPS_H
#endif

HWY_BEFORE_NAMESPACE();
namespace hw {
namespace HWY_NAMESPACE {

/// f(params, x...) for a functor with attributes, else f(x...).
template <class F, class... T>
HWY_INLINE auto call(const F& f, const Params& params, T... x) {
  if constexpr (requires { f(params, x...); })
    return f(params, x...);
  else
    return f(x...);
}

template <class F, class T, class Result, size_t... I>
__attribute__((flatten)) void scalar_loop(const void* const* in, void* out, int64_t n, const LoopParam* p,
                                          std::index_sequence<I...>) {
  const T* const x[] = {static_cast<const T*>(in[I])...};
  Result* y = static_cast<Result*>(out);
  const Params params = local_params(p);
  const F f{};
#pragma GCC ivdep
  for (int64_t k = 0; k < n; ++k) y[k] = call(f, params, x[I][k]...);
}

template <class F, class T, size_t... I>
__attribute__((flatten)) void pack_loop(const void* const* in, void* out, int64_t n, const LoopParam* p,
                                        std::index_sequence<I...>) {
  using P = Pack<T>;
  const T* const x[] = {static_cast<const T*>(in[I])...};
  T* y = static_cast<T*>(out);
  const Params params = local_params(p);
  const F f{};
  const int64_t step = P::lanes();
  int64_t k = 0;
  for (; k + step <= n; k += step) call(f, params, P::load(x[I] + k)...).store(y + k);
  if (k == n) return;
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  const typename P::D d;
  const auto mask = hn::FirstN(d, static_cast<size_t>(n - k));
  hn::BlendedStore(call(f, params, P(hn::MaskedLoad(mask, d, x[I] + k))...).v, mask, d, y + k);
#else
  constexpr size_t kMax = HWY_MAX_BYTES / sizeof(T);
  alignas(64) T rest[sizeof...(I) + 1][kMax] = {};
  ((std::memcpy(rest[I], x[I] + k, static_cast<size_t>(n - k) * sizeof(T))), ...);
  call(f, params, P::load(rest[I])...).store(rest[sizeof...(I)]);
  std::memcpy(y + k, rest[sizeof...(I)], static_cast<size_t>(n - k) * sizeof(T));
#endif
}

#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
/// Complex numbers as packs of alternating real and imaginary parts, for functors that say how.
template <class F, class T>
__attribute__((flatten)) void alternating_loop(const void* const* in, void* out, int64_t n) {
  using P = Pack<T>;
  const T *a = static_cast<const T*>(in[0]), *b = static_cast<const T*>(in[1]);
  T* y = static_cast<T*>(out);
  const int64_t step = P::lanes();
  int64_t k = 0;
  for (; k + step <= 2 * n; k += step) F::alternating(P::load(a + k), P::load(b + k)).store(y + k);
  if (k == 2 * n) return;
  constexpr size_t kMax = HWY_MAX_BYTES / sizeof(T);
  alignas(64) T rest[3][kMax] = {};
  const size_t bytes = static_cast<size_t>(2 * n - k) * sizeof(T);
  std::memcpy(rest[0], a + k, bytes);
  std::memcpy(rest[1], b + k, bytes);
  F::alternating(P::load(rest[0]), P::load(rest[1])).store(rest[2]);
  std::memcpy(y + k, rest[2], bytes);
}
#endif

template <class F, class T, class Result>
void loop(const void* const* in, void* out, int64_t n, const LoopParam* params) {
  constexpr auto inputs = std::make_index_sequence<static_cast<size_t>(F::kArity)>();
#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  if constexpr (Real<T> && std::is_same_v<T, Result> && !requires { F::kScalarOnly; })
    return pack_loop<F, T>(in, out, n, params, inputs);
  if constexpr (Complex<T>)
    if constexpr (requires(Pack<typename T::value_type> p) { F::alternating(p, p); })
      return alternating_loop<F, typename T::value_type>(in, out, n);
#endif
  scalar_loop<F, T, Result>(in, out, n, params, inputs);
}

template <class F, class T, bool kReference>
void add_loop(DType compute, AddElementwise add) {
  constexpr bool kReal = F::kOut == Out::Real;
  using Value = typename decltype([] {
    if constexpr (std::is_arithmetic_v<T>)
      return Type<T>{};
    else
      return Type<typename T::value_type>{};
  }())::type;
  using Result = std::conditional_t<F::kOut == Out::Bool, bool, std::conditional_t<kReal, Value, T>>;
  const DType out = F::kOut == Out::Bool ? DType::Bool : kReal ? real_dtype(compute) : compute;
  ElementwiseLoop made;
  if constexpr (kReference)
    made = [](const void* const* in, void* to, int64_t n, const LoopParam* params) {
      scalar_loop<F, T, Result>(in, to, n, params, std::make_index_sequence<static_cast<size_t>(F::kArity)>());
    };
  else
    made = &loop<F, T, Result>;
  add({F::kName, F::kArity, compute, out, made, F::kCost});
}

template <class F, uint32_t kDtypes, bool kReference>
void add_functor(AddElementwise add) {
  constexpr uint32_t d = F::kDtypes & kDtypes;
  if constexpr (d & dtype_bit(DType::Bool)) add_loop<F, bool, kReference>(DType::Bool, add);
  if constexpr (d & dtype_bit(DType::U8)) add_loop<F, uint8_t, kReference>(DType::U8, add);
  if constexpr (d & dtype_bit(DType::I8)) add_loop<F, int8_t, kReference>(DType::I8, add);
  if constexpr (d & dtype_bit(DType::I16)) add_loop<F, int16_t, kReference>(DType::I16, add);
  if constexpr (d & dtype_bit(DType::I32)) add_loop<F, int32_t, kReference>(DType::I32, add);
  if constexpr (d & dtype_bit(DType::I64)) add_loop<F, int64_t, kReference>(DType::I64, add);
  if constexpr (d & dtype_bit(DType::F32)) add_loop<F, float, kReference>(DType::F32, add);
  if constexpr (d & dtype_bit(DType::F64)) add_loop<F, double, kReference>(DType::F64, add);
  if constexpr (d & dtype_bit(DType::C64)) add_loop<F, std::complex<float>, kReference>(DType::C64, add);
  if constexpr (d & dtype_bit(DType::C128)) add_loop<F, std::complex<double>, kReference>(DType::C128, add);
}

/// Adds the loops of a family for those of its dtypes that are in kDtypes: a family may be spread over several files.
template <uint32_t kDtypes, bool kReference = false, class... F>
void add_loops(Family<F...>, AddElementwise add) {
  (add_functor<F, kDtypes, kReference>(add), ...);
}

}  // namespace HWY_NAMESPACE
}  // namespace hw
HWY_AFTER_NAMESPACE();
#endif
