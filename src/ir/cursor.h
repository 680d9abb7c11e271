// Reading graph text token by token. Errors name line and column.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace hw {

class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}

  bool at_end();       // of the text, comments and empty lines passed over
  bool at_line_end();  // blanks and a comment passed over
  void expect_line_end();
  char peek();                        // the next character after blanks, '\n' at the end of the line
  bool take(std::string_view token);  // passes over `token` if it is next
  void expect(std::string_view token);
  bool take_word(std::string_view word);         // as take, but the whole word
  std::string_view word(std::string_view what);  // letters, digits, '_' and '.'
  std::string quoted();
  std::string name(std::string_view what);  // a word or quoted
  std::string_view value_name();            // what follows '%'
  int64_t integer(std::string_view what);
  int32_t index(std::string_view what);  // an integer from 0 to 2^31 - 2
  /// The characters of a number: digits, point, exponent, inf, nan, with an optional sign. `whole`: an integer.
  std::string_view number(bool& whole);
  double to_double(std::string_view number);
  float to_float(std::string_view number);
  int64_t to_int(std::string_view number);

  size_t mark() {  // where the next token begins
    blanks();
    return at_;
  }
  void back_to(size_t mark) { at_ = mark; }
  std::string found() const;  // "'+'", "the end of the line"
  [[noreturn]] void error(std::string message) const { error_at(at_, std::move(message)); }
  [[noreturn]] void error_at(size_t mark, std::string message) const;

 private:
  void blanks();

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace hw
