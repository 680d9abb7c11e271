// Number formatting for text().
#include "base/text.h"

#include <charconv>

namespace hw {

template <class T>
static void append_chars(std::string& out, T value) {
  char buffer[32];
  auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  out.append(buffer, end);
}

void append_signed(std::string& out, int64_t value) { append_chars(out, value); }
void append_unsigned(std::string& out, uint64_t value) { append_chars(out, value); }
void append_double(std::string& out, double value) { append_chars(out, value); }

}  // namespace hw
