// Settings read from the environment.
#pragma once

#include <cstdint>
#include <string>

namespace hw {

std::string flag_text(const char* name, const char* otherwise);
int64_t flag_int(const char* name, int64_t otherwise);  // `otherwise` also when the text is no integer

}  // namespace hw
