// Element types, their names, sizes and torch's promotion rules.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hw {

enum class DType : uint8_t { Bool, U8, I8, I16, I32, I64, F16, BF16, F32, F64, C64, C128, None = 255 };
constexpr int kNumDTypes = 12;

int64_t dtype_size(DType dtype);               // bytes per element; 0 for None
std::string_view dtype_name(DType dtype);      // "float32", as in Python
std::string_view dtype_short(DType dtype);     // "f32", as in messages and graph text
DType dtype_from_name(std::string_view name);  // either form; None if unknown

inline bool is_floating(DType d) { return d >= DType::F16 && d <= DType::F64; }
inline bool is_complex(DType d) { return d == DType::C64 || d == DType::C128; }
inline bool is_integral(DType d) { return d >= DType::U8 && d <= DType::I64; }  // without Bool
inline bool is_reduced(DType d) { return d == DType::F16 || d == DType::BF16; }
inline bool is_inexact(DType d) { return d >= DType::F16 && d <= DType::C128; }

/// The common type of two tensors of equal standing (torch.promote_types).
DType promote(DType a, DType b);
/// The real type of a complex type (C64 -> F32); others unchanged. And back.
DType real_dtype(DType d);
DType complex_dtype(DType d);
/// Whether a value of `from` may be stored as `to` in place: bool < integer < floating < complex (torch.can_cast).
bool can_cast(DType from, DType to);

/// f32 unless hw.set_default_dtype said otherwise.
DType default_dtype();
void set_default_dtype(DType d);

inline void append_text(std::string& out, DType d) { out.append(dtype_short(d)); }

}  // namespace hw
