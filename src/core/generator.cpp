// The default generator.
#include "core/generator.h"

#include <random>

namespace hw {

Generator& default_generator() {
  static Generator* g = [] {
    std::random_device entropy;
    auto* made = new Generator((uint64_t{entropy()} << 32) | entropy());
    made->retain();
    return made;
  }();
  return *g;
}

}  // namespace hw
