// Plain reductions: one result after the other, elements in order, in the widest type of the kind.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "core/visit.h"
#include "kernels/loops/convert.h"
#include "kernels/reduce/plan.h"

namespace hw {

namespace {

template <class T>
T identity(ReduceKind kind) {
  using Real = decltype([] {
    if constexpr (requires { typename T::value_type; })
      return typename T::value_type();
    else
      return T();
  }());
  using L = std::numeric_limits<Real>;
  switch (kind) {
    case ReduceKind::Prod:
    case ReduceKind::All: return T(1);
    case ReduceKind::Max: return T(L::has_infinity ? -L::infinity() : L::lowest());
    case ReduceKind::Min:
    case ReduceKind::MinAbs: return T(L::has_infinity ? L::infinity() : L::max());
    default: return T(0);
  }
}

template <class T>
T larger(T a, T b) {
  return b > a || b != b ? b : a;
}
template <class T>
T smaller(T a, T b) {
  return b < a || b != b ? b : a;
}

/// Integers multiply and add without undefined overflow.
template <class T>
T combine(ReduceKind kind, T a, T x) {
  if constexpr (std::is_same_v<T, bool>) {
    return kind == ReduceKind::All || kind == ReduceKind::Prod ? a && x : a || x;
  } else if constexpr (std::is_integral_v<T>) {
    const auto ua = static_cast<uint64_t>(a), ux = static_cast<uint64_t>(x);
    if (kind == ReduceKind::Sum) return static_cast<T>(ua + ux);
    if (kind == ReduceKind::Prod) return static_cast<T>(ua * ux);
    return kind == ReduceKind::Max ? std::max(a, x) : std::min(a, x);
  } else {
    if (kind == ReduceKind::Sum) return a + x;
    if (kind == ReduceKind::Prod) return a * x;
    if constexpr (std::is_floating_point_v<T>) switch (kind) {
        case ReduceKind::Max: return larger(a, x);
        case ReduceKind::Min: return smaller(a, x);
        case ReduceKind::SumSquares: return a + x * x;
        case ReduceKind::SumAbs: return a + std::abs(x);
        case ReduceKind::MaxAbs: return larger(a, std::abs(x));
        case ReduceKind::MinAbs: return smaller(a, std::abs(x));
        case ReduceKind::CountNonzero: return a + (x != 0);
        default: break;
      }
    return a;
  }
}

/// Accumulates floats in double, so that the reference is closer to the truth than what it judges.
DType widest(DType d) {
  if (d == DType::F32) return DType::F64;
  return d == DType::C64 ? DType::C128 : d;
}

class ReferenceReduce final : public Kernel {
 public:
  ReferenceReduce(const ReduceRecipe& recipe, const KernelRequest& request)
      : recipe_(recipe),
        in_(request.inputs[0].dtype),
        out_(request.outputs[0].dtype),
        plan_(make_reduce_plan(request.inputs[0], request.outputs[0], recipe.axes)) {
    recipe_.compute = widest(recipe.compute);
    load_ = find_convert(in_, recipe_.compute);
    store_ = find_convert(recipe_.compute, out_);
  }

  void run(const KernelArgs& args) const override {
    visit_dtype(recipe_.compute, [&]<class T>(Type<T>) {
      if constexpr (std::is_same_v<T, bool> || sizeof(T) >= 8) run_as<T>(args);
    });
  }

 private:
  template <class T>
  T reduce(const char* base, T result) const {
    NestWalk walk(plan_.reduced, 1, 0);
    for (int64_t r = 0; r < plan_.reduced.count; ++r) {
      T x{};
      load_(base + walk.offset(0) * dtype_size(in_), 1, &x, 1, 1);
      result = combine(recipe_.kind, result, x);
      walk.advance(1);
    }
    return result;
  }

  template <class T>
  void run_as(const KernelArgs& args) const {
    if (plan_.kept.count == 0) return;
    NestWalk kept(plan_.kept, 2, 0);
    for (int64_t k = 0; k < plan_.kept.count; ++k) {
      const char* base = static_cast<const char*>(args.inputs[0]) + kept.offset(0) * dtype_size(in_);
      T result = identity<T>(recipe_.kind);
      if (plan_.reduced.count > 0) result = reduce(base, result);
      finish_reduction(recipe_.finish, recipe_.compute, &result, 1, plan_.reduced.count);
      store_(&result, 1, static_cast<char*>(args.outputs[0]) + kept.offset(1) * dtype_size(out_), 1, 1);
      kept.advance(1);
    }
  }

  ReduceRecipe recipe_;
  DType in_, out_;
  ReducePlan plan_;
  ConvertFn load_, store_;
};

std::unique_ptr<Kernel> prepare(const KernelRequest& request, std::string& why_not) {
  ReduceRecipe recipe;
  if (!reduce_recipe(request, recipe, why_not)) return nullptr;
  return std::make_unique<ReferenceReduce>(recipe, request);
}

constexpr std::string_view kOps[] = {"sum", "mean", "prod", "amax", "amin", "any", "all", "_vector_norm"};
struct RegisterAll {
  RegisterAll() {
    for (std::string_view op : kOps) RegisterKernel({op, "reference", DeviceType::CPU, kReferencePriority, &prepare});
  }
};
const RegisterAll registered;

}  // namespace

}  // namespace hw
