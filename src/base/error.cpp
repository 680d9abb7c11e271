// Out-of-line throws keep the callers of check() small.
#include "base/error.h"

namespace hw {

void throw_error(ErrorKind kind, std::string message) { throw Error(kind, std::move(message)); }

void throw_bug(std::string message) {
  throw Error(ErrorKind::Runtime, "internal error in Headwater, please report it: " + message);
}

}  // namespace hw
