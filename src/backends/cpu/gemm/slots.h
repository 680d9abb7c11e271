// How the kernels of packed products share work among threads.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/thread_team.h"

namespace hw {

/// Runs body(begin, end) over [0, count) in one piece for each of at most `slots` threads.
template <class F>
void in_slots(int64_t count, int64_t slots, F&& body) {
  slots = std::max<int64_t>(1, std::min(slots, count));
  parallel_for(slots, 1, [&](int64_t first, int64_t last) {
    for (int64_t slot = first; slot < last; ++slot) body(count * slot / slots, count * (slot + 1) / slots);
  });
}

}  // namespace hw
