// Settings read from the environment.
#include "base/flags.h"

#include <cstdlib>

namespace hw {

std::string flag_text(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value ? value : otherwise;
}

int64_t flag_int(const char* name, int64_t otherwise) {
  const char* value = std::getenv(name);
  if (!value || !*value) return otherwise;
  char* end = nullptr;
  int64_t n = std::strtoll(value, &end, 10);
  return end && *end == 0 ? n : otherwise;
}

}  // namespace hw
