// Writing instructions on vectors as text: equal ones are written once, and what does not vary in a row stands before its loop.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>

#include "base/text.h"
#include "core/dtype.h"

namespace hw {

class Writer {
 public:
  explicit Writer(int lanes) : lanes_(lanes) {}

  /// "<8 x float>" of "float".
  std::string vector(std::string_view element) const { return text("<", lanes_, " x ", element, ">"); }
  int lanes() const { return lanes_; }

  /// Writes "%7 = <instruction>" unless it is there already, and gives the name. `operands` decide where it stands.
  std::string put(const std::string& instruction, std::initializer_list<std::string_view> operands);
  /// The same for what reads memory in the loop, and at the start of a row.
  std::string put_varying(const std::string& instruction);
  std::string put_in_row(const std::string& instruction);
  void put_last(const std::string& line) { loop_ += "  " + line + "\n"; }
  /// A call of an intrinsic of vectors: "fma" on "f32".
  std::string call(std::string_view intrinsic, DType dtype, std::initializer_list<std::string_view> operands);

  /// A number of float32 in every lane, read from memory where it is used, as an operand of that instruction: there are more numbers in a
  /// polynomial than registers, and what the compiler keeps in registers it copies about.
  std::string from_memory(uint32_t bits);

  const std::string& row() const { return row_; }
  const std::string& loop() const { return loop_; }
  const std::string& declarations() const { return declarations_; }

 private:
  std::string name() { return text("%v", next_++); }

  int lanes_, next_ = 0;
  std::string row_, loop_, declarations_;
  std::unordered_map<std::string, std::string> written_;
  std::unordered_set<std::string> varying_, declared_;
};

/// "float" for f32 and for the 16-bit floats, which are held as f32; "i1" for bool.
std::string_view held_as(DType dtype);
/// A number in every lane, as an operand.
std::string splat(DType dtype, double value);
std::string splat_bits(bool is_double, uint64_t bits);
std::string splat_int(std::string_view type, int64_t value);

}  // namespace hw
