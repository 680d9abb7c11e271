// Which build of Headwater this is.
#pragma once

#include <string>

namespace hw {

/// The linker's build id of the library or program that this code is in, in hexadecimal digits; without one, its size and time
/// of change. Different code has a different id.
const std::string& build_id();

}  // namespace hw
