// Tokens of graph text.
#include "ir/cursor.h"

#include <charconv>
#include <limits>

namespace hw {

static bool digit(char c) { return c >= '0' && c <= '9'; }
static bool word_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || digit(c) || c == '_' || c == '.';
}

void Cursor::blanks() {
  while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\r')) ++at_;
}

bool Cursor::at_line_end() {
  blanks();
  if (at_ < text_.size() && text_[at_] == '#')
    while (at_ < text_.size() && text_[at_] != '\n') ++at_;
  return at_ == text_.size() || text_[at_] == '\n';
}

bool Cursor::at_end() {
  while (at_line_end()) {
    if (at_ == text_.size()) return true;
    ++at_;
  }
  return false;
}

void Cursor::expect_line_end() {
  if (!at_line_end()) error(text("expected the end of the line, found ", found()));
}

char Cursor::peek() {
  blanks();
  return at_ < text_.size() ? text_[at_] : '\n';
}

bool Cursor::take(std::string_view token) {
  blanks();
  if (!text_.substr(at_).starts_with(token)) return false;
  at_ += token.size();
  return true;
}

void Cursor::expect(std::string_view token) {
  if (!take(token)) error(text("expected '", token, "', found ", found()));
}

bool Cursor::take_word(std::string_view word) {
  size_t before = at_;
  if (take(word) && (at_ == text_.size() || !word_char(text_[at_]))) return true;
  at_ = before;
  return false;
}

std::string_view Cursor::word(std::string_view what) {
  blanks();
  size_t begin = at_;
  while (at_ < text_.size() && word_char(text_[at_])) ++at_;
  if (at_ == begin) error(text("expected ", what, ", found ", found()));
  return text_.substr(begin, at_ - begin);
}

static int hex_digit(char c) {
  if (digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

std::string Cursor::quoted() {
  expect("\"");
  const size_t begin = at_;
  std::string out;
  while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n') {
    char c = text_[at_++];
    if (c != '\\') {
      out.push_back(c);
      continue;
    }
    char kind = at_ < text_.size() ? text_[at_++] : '\0';
    if (kind == 'n') {
      out.push_back('\n');
    } else if (kind == '"' || kind == '\\') {
      out.push_back(kind);
    } else if (kind == 'x' && at_ + 2 <= text_.size() && hex_digit(text_[at_]) >= 0 && hex_digit(text_[at_ + 1]) >= 0) {
      out.push_back(static_cast<char>(hex_digit(text_[at_]) * 16 + hex_digit(text_[at_ + 1])));
      at_ += 2;
    } else {
      error("unknown escape; there are \\n, \\\", \\\\ and \\x followed by two hexadecimal digits");
    }
  }
  if (at_ == text_.size() || text_[at_] != '"') error_at(begin, "the text in quotes does not end on its line");
  ++at_;
  return out;
}

std::string Cursor::name(std::string_view what) { return peek() == '"' ? quoted() : std::string(word(what)); }

std::string_view Cursor::value_name() {
  expect("%");
  if (at_ == text_.size() || !word_char(text_[at_]))
    error(text("expected the number of a value after %, found ", found()));
  return word("a value");
}

std::string_view Cursor::number(bool& whole) {
  blanks();
  const size_t begin = at_;
  auto next = [&] { return at_ < text_.size() ? text_[at_] : '\0'; };
  auto digits = [&] {
    size_t from = at_;
    while (digit(next())) ++at_;
    return at_ > from;
  };
  whole = false;
  if (next() == '-' || next() == '+') ++at_;
  std::string_view rest = text_.substr(at_);
  if (rest.starts_with("inf") || rest.starts_with("nan")) {
    at_ += 3;
    return text_.substr(begin, 3 + (rest.data() - text_.data() - begin));
  }
  if (!digits()) error(text("expected a number, found ", found()));
  whole = true;
  if (next() == '.') {
    ++at_;
    digits();
    whole = false;
  }
  if (next() == 'e' || next() == 'E') {
    ++at_;
    if (next() == '-' || next() == '+') ++at_;
    if (!digits()) error(text("expected an exponent, found ", found()));
    whole = false;
  }
  return text_.substr(begin, at_ - begin);
}

/// The nearest value; the ends of the range where the number is beyond them.
template <class T>
static T nearest(std::string_view s, const Cursor& cursor) {
  bool negative = s[0] == '-';
  if (s[0] == '+') s.remove_prefix(1);
  T v{};
  auto [end, code] = std::from_chars(s.data(), s.data() + s.size(), v);
  if (code == std::errc::result_out_of_range) {
    size_t e = s.find_first_of("eE");
    bool tiny = e != std::string_view::npos && s[e + 1] == '-';
    v = tiny ? T{0} : std::numeric_limits<T>::infinity();
    return negative ? -v : v;
  }
  if (code != std::errc() || end != s.data() + s.size()) cursor.error(text("'", s, "' is no number"));
  return v;
}

double Cursor::to_double(std::string_view s) { return nearest<double>(s, *this); }
float Cursor::to_float(std::string_view s) { return nearest<float>(s, *this); }

int64_t Cursor::to_int(std::string_view s) {
  if (s[0] == '+') s.remove_prefix(1);
  int64_t v = 0;
  auto [end, code] = std::from_chars(s.data(), s.data() + s.size(), v);
  if (code != std::errc() || end != s.data() + s.size()) error(text("'", s, "' is no 64-bit integer"));
  return v;
}

int64_t Cursor::integer(std::string_view what) {
  blanks();
  const char c = peek();
  if (!digit(c) && c != '-') error(text("expected ", what, ", found ", found()));
  const size_t begin = at_;
  bool whole;
  std::string_view s = number(whole);
  if (!whole) error_at(begin, text("expected ", what, ", found ", s));
  return to_int(s);
}

int32_t Cursor::index(std::string_view what) {
  const size_t begin = at_;
  int64_t v = integer(what);
  if (v < 0 || v >= std::numeric_limits<int32_t>::max()) error_at(begin, text(what, " ", v, " is out of range"));
  return static_cast<int32_t>(v);
}

std::string Cursor::found() const {
  size_t at = at_;
  while (at < text_.size() && (text_[at] == ' ' || text_[at] == '\t')) ++at;
  if (at == text_.size()) return "the end of the text";
  if (text_[at] == '\n') return "the end of the line";
  size_t end = at + 1;
  if (word_char(text_[at]))
    while (end < text_.size() && end - at < 40 && word_char(text_[end])) ++end;
  return text("'", text_.substr(at, end - at), "'");
}

void Cursor::error_at(size_t mark, std::string message) const {
  size_t line = 1, begin = 0;
  for (size_t i = 0; i < mark && i < text_.size(); ++i)
    if (text_[i] == '\n') {
      ++line;
      begin = i + 1;
    }
  fail(ErrorKind::Value, "graph text, line ", line, ", column ", mark - begin + 1, ": ", message);
}

}  // namespace hw
