// Pieces of global tensors between processes, as messages of a Comm.
#pragma once

#include "comm/comm.h"
#include "eager/global/world.h"

namespace hw::bind {

/// Waits with the GIL released, so that Ctrl-C is heard and other threads run.
std::unique_ptr<Messenger> messenger_over(Ref<Comm> comm);

}  // namespace hw::bind
