// Traces by running each functor once on symbols.
#include "kernels/trace/symbols.h"
// After symbols.h, which makes their vectors symbols.
#include <unordered_map>

#include "kernels/elementwise/functors_arithmetic.h"
#include "kernels/elementwise/functors_float.h"
#include "kernels/elementwise/functors_grad.h"
#include "kernels/elementwise/functors_logic.h"

namespace hw {

namespace {

using namespace N_TRACE;
using tracing::record;
using tracing::recorder;

using TraceFn = int32_t (*)(const Params& params);

template <class T>
Pack<T> input(size_t i) {
  return hn::Symbol<T>{record({TraceKind::Input, tracing::type_of<T>, -1, -1, -1, i})};
}

template <class F, class T, size_t... I>
int32_t run(const Params& params, std::index_sequence<I...>) {
  const F f{};
  const Pack<T> x[] = {input<T>(I)...};
  if constexpr (requires { f(params, x[I]...); })
    return f(params, x[I]...).v.id;
  else
    return f(x[I]...).v.id;
}

template <class F, class T>
int32_t run(const Params& params) {
  return run<F, T>(params, std::make_index_sequence<static_cast<size_t>(F::kArity)>());
}

struct Entry {
  TraceFn f32 = nullptr, f64 = nullptr;
};
using Table = std::unordered_map<std::string_view, Entry>;

template <class F>
void add_functor(Table& table) {
  Entry e;
  if constexpr (!requires { F::kScalarOnly; }) {
    if constexpr (F::kDtypes & dtype_bit(DType::F32)) e.f32 = &run<F, float>;
    if constexpr (F::kDtypes & dtype_bit(DType::F64)) e.f64 = &run<F, double>;
  }
  table[F::kName] = e;
}
template <class... F>
void add_family(Family<F...>, Table& table) {
  (add_functor<F>(table), ...);
}

// Comparisons and tests give bool, which no pack holds: their expressions once more, as masks.
template <class T>
PackMask<T> infinite(Pack<T> x) {
  return math::abs(x) == Pack<T>(std::numeric_limits<T>::infinity());
}
template <class T>
PackMask<T> set(Pack<T> x) {
  return x != Pack<T>(0);
}
template <class T, class F>
int32_t mask_of_one(F f) {
  return f(input<T>(0)).m.id;
}
template <class T, class F>
int32_t mask_of_two(F f) {
  const Pack<T> a = input<T>(0), b = input<T>(1);
  return f(a, b).m.id;
}
#define HW_TEST(name, ...)                                                                             \
  table[name] = {[](const Params&) { return mask_of_one<float>([](auto x) { return __VA_ARGS__; }); }, \
                 [](const Params&) { return mask_of_one<double>([](auto x) { return __VA_ARGS__; }); }}
#define HW_COMPARE(name, ...)                                                                                  \
  table[name] = {[](const Params&) { return mask_of_two<float>([](auto a, auto b) { return __VA_ARGS__; }); }, \
                 [](const Params&) { return mask_of_two<double>([](auto a, auto b) { return __VA_ARGS__; }); }}

void add_comparisons(Table& table) {
  HW_COMPARE("eq", a == b);
  HW_COMPARE("ne", a != b);
  HW_COMPARE("lt", a < b);
  HW_COMPARE("le", a <= b);
  HW_COMPARE("gt", a > b);
  HW_COMPARE("ge", a >= b);
  HW_COMPARE("logical_and", set(a) & set(b));
  HW_COMPARE("logical_or", set(a) | set(b));
  HW_COMPARE("logical_xor", (set(a) & (!set(b))) | ((!set(a)) & set(b)));
  HW_TEST("logical_not", !set(x));
  HW_TEST("isnan", x != x);
  HW_TEST("isinf", infinite(x));
  HW_TEST("isfinite", (x == x) & !infinite(x));
  HW_TEST("isposinf", infinite(x) & (x > decltype(x)(0)));
  HW_TEST("isneginf", infinite(x) & (x < decltype(x)(0)));
  HW_TEST("signbit", math::signbit(x));
}
#undef HW_TEST
#undef HW_COMPARE

const Table& table() {
  static const Table made = [] {
    Table t;
    add_family(functors::Arithmetic{}, t);
    add_family(functors::Rounding{}, t);
    add_family(functors::Simple{}, t);
    add_family(functors::Exponential{}, t);
    add_family(functors::Hyperbolic{}, t);
    add_family(functors::Trigonometric{}, t);
    add_family(functors::Special{}, t);
    add_family(functors::Activation{}, t);
    add_family(functors::Gradients{}, t);
    add_family(functors::Division{}, t);
    add_comparisons(t);
    return t;
  }();
  return made;
}

}  // namespace

bool trace_functor(std::string_view functor, DType compute, const LoopParams& params, Trace& trace) {
  const auto it = table().find(functor);
  if (it == table().end()) return false;
  const TraceFn fn = compute == DType::F32 ? it->second.f32 : compute == DType::F64 ? it->second.f64 : nullptr;
  if (!fn) return false;
  trace = {};
  recorder = {&trace, false};
  trace.result = fn(local_params(params.data()));
  recorder.trace = nullptr;
  return !recorder.failed;
}

}  // namespace hw
