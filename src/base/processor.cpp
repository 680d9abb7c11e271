// The processor's name, out of /proc/cpuinfo.
#include "base/processor.h"

#include <cstdio>
#include <cstring>

namespace hw {

static std::string find_name() {
  std::string name;
  if (std::FILE* in = std::fopen("/proc/cpuinfo", "r")) {
    char line[512];
    while (name.empty() && std::fgets(line, sizeof line, in))
      if (std::strncmp(line, "model name", 10) == 0) name = line;
    std::fclose(in);
  }
  const size_t first = name.find_first_not_of(" \t", name.find(':') == std::string::npos ? 0 : name.find(':') + 1);
  const size_t last = name.find_last_not_of(" \t\n");
  return first == std::string::npos ? std::string() : name.substr(first, last + 1 - first);
}

const std::string& processor_name() {
  static const std::string name = find_name();
  return name;
}

}  // namespace hw
