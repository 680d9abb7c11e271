// Stand-ins for Highway's vectors: each call writes an operation down. Functors included after this file trace themselves.
#pragma once

#include <bit>
#include <cstring>
#include <type_traits>

#include "kernels/simd/targets.h"
// After targets.h.
#include "hwy/highway.h"
#include "kernels/trace/trace.h"

// A target of our own, for this file's translation unit alone: any with packs that the functors' headers do not name.
#undef HWY_NAMESPACE
#define HWY_NAMESPACE N_TRACE
#undef HWY_TARGET
#define HWY_TARGET HWY_SSE4
#undef HWY_BEFORE_NAMESPACE
#define HWY_BEFORE_NAMESPACE() static_assert(true, "")
#undef HWY_AFTER_NAMESPACE
#define HWY_AFTER_NAMESPACE() static_assert(true, "")
#undef HWY_INLINE
#define HWY_INLINE inline
#undef HWY_ATTR
#define HWY_ATTR
#undef HWY_MAX_BYTES
#define HWY_MAX_BYTES 16

namespace hw::tracing {

using Type = TraceOp::Type;

/// What is being traced on this thread.
struct Recorder {
  Trace* trace = nullptr;
  bool failed = false;  // something happened that cannot be written down
};
inline thread_local Recorder recorder;

inline int32_t record(TraceOp op) {
  recorder.trace->ops.push_back(op);
  return static_cast<int32_t>(recorder.trace->ops.size() - 1);
}

template <class T>
constexpr Type type_of = std::is_same_v<T, float>    ? Type::F32
                         : std::is_same_v<T, double> ? Type::F64
                         : sizeof(T) == 4            ? Type::U32
                                                     : Type::U64;
}  // namespace hw::tracing

namespace hwy::N_TRACE {

using hw::TraceKind;
using hw::TraceOp;
using hw::tracing::record;
using hw::tracing::recorder;
using hw::tracing::type_of;

template <class Element>
struct ScalableTag {
  using T = Element;
};
template <class T>
struct Symbol {
  int32_t id = -1;
};
template <class T>
struct SymbolMask {
  int32_t id = -1;
};
template <class D>
using TFromD = typename D::T;
template <class D>
using Vec = Symbol<TFromD<D>>;
template <class D>
using Mask = SymbolMask<TFromD<D>>;
template <class D>
using RebindToUnsigned = ScalableTag<std::conditional_t<sizeof(TFromD<D>) == 4, uint32_t, uint64_t>>;
template <class D>
using RebindToSigned = ScalableTag<std::conditional_t<sizeof(TFromD<D>) == 4, int32_t, int64_t>>;
template <class T, class D>
using Rebind = ScalableTag<T>;

template <class T>
Symbol<T> made(TraceKind kind, int32_t a, int32_t b = -1, int32_t c = -1, uint64_t bits = 0) {
  return {record({kind, type_of<T>, a, b, c, bits})};
}
template <class T>
SymbolMask<T> mask_of(TraceKind kind, int32_t a, int32_t b = -1) {
  return {record({kind, TraceOp::Type::Mask, a, b, -1, 0})};
}

// clang-format off
template <class D> size_t Lanes(D) { return 1; }
template <class D> Vec<D> Set(D, TFromD<D> value) { uint64_t bits = 0; std::memcpy(&bits, &value, sizeof value); return made<TFromD<D>>(TraceKind::Const, -1, -1, -1, bits); }
template <class T> Symbol<T> Add(Symbol<T> a, Symbol<T> b) { return made<T>(TraceKind::Add, a.id, b.id); }
template <class T> Symbol<T> Sub(Symbol<T> a, Symbol<T> b) { return made<T>(TraceKind::Sub, a.id, b.id); }
template <class T> Symbol<T> Mul(Symbol<T> a, Symbol<T> b) { return made<T>(TraceKind::Mul, a.id, b.id); }
template <class T> Symbol<T> Div(Symbol<T> a, Symbol<T> b) { return made<T>(TraceKind::Div, a.id, b.id); }
template <class T> Symbol<T> Neg(Symbol<T> a) { return made<T>(TraceKind::Neg, a.id); }
template <class T> Symbol<T> Abs(Symbol<T> a) { return made<T>(TraceKind::Abs, a.id); }
template <class T> Symbol<T> Sqrt(Symbol<T> a) { return made<T>(TraceKind::Sqrt, a.id); }
template <class T> Symbol<T> Floor(Symbol<T> a) { return made<T>(TraceKind::Floor, a.id); }
template <class T> Symbol<T> Ceil(Symbol<T> a) { return made<T>(TraceKind::Ceil, a.id); }
template <class T> Symbol<T> Trunc(Symbol<T> a) { return made<T>(TraceKind::Trunc, a.id); }
template <class T> Symbol<T> Round(Symbol<T> a) { return made<T>(TraceKind::Round, a.id); }
template <class T> Symbol<T> CopySign(Symbol<T> a, Symbol<T> b) { return made<T>(TraceKind::CopySign, a.id, b.id); }
template <class T> Symbol<T> MulAdd(Symbol<T> a, Symbol<T> b, Symbol<T> c) { return made<T>(TraceKind::Fma, a.id, b.id, c.id); }
template <class T> Symbol<T> NegMulAdd(Symbol<T> a, Symbol<T> b, Symbol<T> c) { return MulAdd(Neg(a), b, c); }
template <class T> Symbol<T> Max(Symbol<T> a, Symbol<T> b) { return made<T>(TraceKind::Max, a.id, b.id); }
template <class T> Symbol<T> Min(Symbol<T> a, Symbol<T> b) { return made<T>(TraceKind::Min, a.id, b.id); }
template <class T> SymbolMask<T> Lt(Symbol<T> a, Symbol<T> b) { return mask_of<T>(TraceKind::Less, a.id, b.id); }
template <class T> SymbolMask<T> Le(Symbol<T> a, Symbol<T> b) { return mask_of<T>(TraceKind::LessEqual, a.id, b.id); }
template <class T> SymbolMask<T> Gt(Symbol<T> a, Symbol<T> b) { return Lt(b, a); }
template <class T> SymbolMask<T> Ge(Symbol<T> a, Symbol<T> b) { return Le(b, a); }
template <class T> SymbolMask<T> Eq(Symbol<T> a, Symbol<T> b) { return mask_of<T>(TraceKind::Equal, a.id, b.id); }
template <class T> SymbolMask<T> And(SymbolMask<T> a, SymbolMask<T> b) { return mask_of<T>(TraceKind::And, a.id, b.id); }
template <class T> SymbolMask<T> Or(SymbolMask<T> a, SymbolMask<T> b) { return mask_of<T>(TraceKind::Or, a.id, b.id); }
template <class T> SymbolMask<T> Not(SymbolMask<T> a) { return mask_of<T>(TraceKind::Not, a.id); }
template <class T> Symbol<T> And(Symbol<T> a, Symbol<T> b) { return made<T>(TraceKind::And, a.id, b.id); }
template <class T> Symbol<T> Or(Symbol<T> a, Symbol<T> b) { return made<T>(TraceKind::Or, a.id, b.id); }
template <class T> Symbol<T> IfThenElse(SymbolMask<T> m, Symbol<T> a, Symbol<T> b) { return made<T>(TraceKind::Select, m.id, a.id, b.id); }
template <int n, class T> Symbol<T> ShiftLeft(Symbol<T> a) { return made<T>(TraceKind::ShiftLeft, a.id, -1, -1, n); }
template <int n, class T> Symbol<T> ShiftRight(Symbol<T> a) { static_assert(std::is_unsigned_v<T>); return made<T>(TraceKind::ShiftRight, a.id, -1, -1, n); }
template <class D, class T> Mask<D> RebindMask(D, SymbolMask<T> m) { return {m.id}; }
// Only ever the way to a mask, which takes the sign bit itself.
template <class T> Symbol<T> BroadcastSignBit(Symbol<T> a) { return a; }
template <class T> SymbolMask<T> MaskFromVec(Symbol<T> a) { return mask_of<T>(TraceKind::SignMask, a.id); }
template <class D, class T> Vec<D> BitCast(D, Symbol<T> a) {
  constexpr bool from = std::is_floating_point_v<T>, to = std::is_floating_point_v<TFromD<D>>;
  if constexpr (from == to) return {a.id};
  else return made<TFromD<D>>(to ? TraceKind::AsFloat : TraceKind::AsBits, a.id);
}

// What has no place in a straight line.
template <class D, class T> bool AllTrue(D, SymbolMask<T>) { recorder.failed = true; return true; }
template <class D, class T> bool AllFalse(D, SymbolMask<T>) { recorder.failed = true; return true; }
template <class D> Vec<D> LoadU(D d, const TFromD<D>*) { recorder.failed = true; return Set(d, TFromD<D>(0)); }
template <class D> void StoreU(Vec<D>, D, TFromD<D>* p) { recorder.failed = true; *p = TFromD<D>(0); }
template <class D, class T> Vec<D> PromoteTo(D d, Symbol<T>) { recorder.failed = true; return Set(d, TFromD<D>(0)); }
template <class D, class T> Vec<D> DemoteTo(D d, Symbol<T>) { recorder.failed = true; return Set(d, TFromD<D>(0)); }
template <class T> Symbol<T> Shuffle2301(Symbol<T> a) { recorder.failed = true; return a; }
template <class T> Symbol<T> Shuffle01(Symbol<T> a) { recorder.failed = true; return a; }
template <class T> Symbol<T> DupOdd(Symbol<T> a) { recorder.failed = true; return a; }
template <class T> Symbol<T> DupEven(Symbol<T> a) { recorder.failed = true; return a; }
template <class T> Symbol<T> OddEven(Symbol<T> a, Symbol<T>) { recorder.failed = true; return a; }
// clang-format on

}  // namespace hwy::N_TRACE
