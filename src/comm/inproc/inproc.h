// Ranks in one process: N Comms whose messages are copies from buffer to buffer. For tests, notebooks and virtual devices.
#pragma once

#include <vector>

#include "comm/comm.h"

namespace hw {

/// One Comm for each rank. They may be used from one thread or from many; each keeps the world alive.
std::vector<Ref<Comm>> make_inproc(int size);

}  // namespace hw
