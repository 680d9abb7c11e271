// Element types: tables and promotion.
#include "core/dtype.h"

#include <array>
#include <atomic>

#include "base/error.h"

namespace hw {

struct DTypeFacts {
  std::string_view name, short_name;
  int64_t size;
};

static constexpr std::array<DTypeFacts, kNumDTypes> kFacts = {{{"bool", "bool", 1},
                                                               {"uint8", "u8", 1},
                                                               {"int8", "i8", 1},
                                                               {"int16", "i16", 2},
                                                               {"int32", "i32", 4},
                                                               {"int64", "i64", 8},
                                                               {"float16", "f16", 2},
                                                               {"bfloat16", "bf16", 2},
                                                               {"float32", "f32", 4},
                                                               {"float64", "f64", 8},
                                                               {"complex64", "c64", 8},
                                                               {"complex128", "c128", 16}}};

int64_t dtype_size(DType d) { return d == DType::None ? 0 : kFacts[static_cast<int>(d)].size; }
std::string_view dtype_name(DType d) { return d == DType::None ? "none" : kFacts[static_cast<int>(d)].name; }
std::string_view dtype_short(DType d) { return d == DType::None ? "none" : kFacts[static_cast<int>(d)].short_name; }

DType dtype_from_name(std::string_view name) {
  for (int i = 0; i < kNumDTypes; ++i)
    if (kFacts[i].name == name || kFacts[i].short_name == name) return static_cast<DType>(i);
  return DType::None;
}

/// Bool < integers < floating < complex.
static int category(DType d) { return d == DType::Bool ? 0 : is_integral(d) ? 1 : is_floating(d) ? 2 : 3; }

DType promote(DType a, DType b) {
  if (a == b || b == DType::None) return a;
  if (a == DType::None) return b;
  if (category(a) > category(b)) std::swap(a, b);  // now b is of the higher category
  if (is_complex(b)) {
    if (is_complex(a)) return DType::C128;
    return b == DType::C64 && a == DType::F64 ? DType::C128 : b;
  }
  if (category(a) < category(b)) return b;
  if (is_floating(a)) {
    if (is_reduced(a) && is_reduced(b)) return DType::F32;  // f16 with bf16
    return std::max(a, b);
  }
  if (a == DType::U8 || b == DType::U8) {  // unsigned with signed: the next signed type that holds both
    DType other = a == DType::U8 ? b : a;
    return other == DType::I8 ? DType::I16 : other;
  }
  return std::max(a, b);
}

DType real_dtype(DType d) { return d == DType::C64 ? DType::F32 : d == DType::C128 ? DType::F64 : d; }

DType complex_dtype(DType d) {
  if (is_complex(d)) return d;
  return d == DType::F64 ? DType::C128 : DType::C64;
}

bool can_cast(DType from, DType to) { return category(from) <= category(to); }

static std::atomic<DType>& default_slot() {
  static std::atomic<DType> slot{DType::F32};
  return slot;
}
DType default_dtype() { return default_slot().load(std::memory_order_relaxed); }
void set_default_dtype(DType d) {
  check_type(is_floating(d), "set_default_dtype: only floating-point types are supported as the default type, got ", d);
  default_slot().store(d);
}

}  // namespace hw
