// Pieces of global tensors between processes, as messages of a Comm.
#pragma once

#include "comm/comm.h"
#include "eager/global/world.h"

namespace hw::bind {

/// Waits with the GIL released, so that Ctrl-C is heard and other threads run.
std::unique_ptr<Messenger> messenger_over(Ref<Comm> comm);

/// From now on the pieces of this thread's exchanges go over a channel of their own, and what is sent is not waited for: until
/// finish_sends() nobody may write to it. Negative: as before. False if the messenger of this process cannot do so.
bool use_channel(int channel);
/// Waits for all that was sent over channels.
void finish_sends();
/// What was sent over channels is no longer waited for, and channels end: after Comm::renew().
void forget_sends();

}  // namespace hw::bind
