// Instructions as text; see the header.
#include "codegen/writer.h"

#include <bit>
#include <cstdio>

namespace hw {

std::string Writer::put(const std::string& instruction, std::initializer_list<std::string_view> operands) {
  auto [it, fresh] = written_.try_emplace(instruction);
  if (!fresh) return it->second;
  it->second = name();
  bool varies = false;
  for (std::string_view o : operands) varies = varies || varying_.count(std::string(o)) > 0;
  if (varies) varying_.insert(it->second);
  (varies ? loop_ : row_) += text("  ", it->second, " = ", instruction, "\n");
  return it->second;
}

std::string Writer::put_varying(const std::string& instruction) {
  const std::string made = name();
  varying_.insert(made);
  loop_ += text("  ", made, " = ", instruction, "\n");
  return made;
}

std::string Writer::put_in_row(const std::string& instruction) {
  const std::string made = name();
  row_ += text("  ", made, " = ", instruction, "\n");
  return made;
}

std::string Writer::call(std::string_view intrinsic, DType dtype, std::initializer_list<std::string_view> operands) {
  const std::string type = vector(held_as(dtype));
  const std::string function = text("@llvm.", intrinsic, ".v", lanes_, dtype == DType::F64 ? "f64" : "f32");
  std::string arguments, types;
  for (std::string_view o : operands) {
    arguments += text(arguments.empty() ? "" : ", ", type, " ", o);
    types += text(types.empty() ? "" : ", ", type);
  }
  if (declared_.insert(function).second) declarations_ += text("declare ", type, " ", function, "(", types, ")\n");
  return put(text("call ", type, " ", function, "(", arguments, ")"), operands);
}

std::string Writer::from_memory(uint32_t bits) {
  const std::string type = vector("float");
  const std::string global = text("@c", bits);
  // No constant, which the compiler would broadcast to a register first.
  if (declared_.insert(global).second)
    declarations_ +=
        text(global, " = internal global ", type, " ", splat_bits(false, bits), ", align ", lanes_ * 4, "\n");
  return put_varying(text("load ", type, ", ptr ", global, ", align ", lanes_ * 4));
}

std::string_view held_as(DType dtype) {
  switch (dtype) {
    case DType::Bool: return "i1";
    case DType::U8:
    case DType::I8: return "i8";
    case DType::I16: return "i16";
    case DType::I32: return "i32";
    case DType::I64: return "i64";
    case DType::F64: return "double";
    default: return "float";
  }
}

std::string splat_bits(bool is_double, uint64_t bits) {
  // Both are written as the digits of a double.
  const double value =
      is_double ? std::bit_cast<double>(bits) : static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  char digits[32];
  std::snprintf(digits, sizeof digits, "0x%016llX", static_cast<unsigned long long>(std::bit_cast<uint64_t>(value)));
  return text("splat (", is_double ? "double " : "float ", digits, ")");
}

std::string splat(DType dtype, double value) {
  if (dtype == DType::F64) return splat_bits(true, std::bit_cast<uint64_t>(value));
  if (is_floating(dtype)) return splat_bits(false, std::bit_cast<uint32_t>(static_cast<float>(value)));
  return splat_int(held_as(dtype), static_cast<int64_t>(value));
}

std::string splat_int(std::string_view type, int64_t value) { return text("splat (", type, " ", value, ")"); }

}  // namespace hw
