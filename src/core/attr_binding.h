// An attribute whose value is not fixed in a graph or plan but given for each run.
#pragma once

#include <cstdint>

namespace hw {

struct AttrBinding {
  enum class Kind : uint8_t { Seed, Draw, Host };
  int32_t attr = 0;  // position in the op's declaration
  Kind kind = Kind::Host;
  int32_t index = 0;  // which draw, which host number
  bool operator==(const AttrBinding&) const = default;
};

}  // namespace hw
