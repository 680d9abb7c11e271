// One parallel region of OpenMP. The only place that opens one, so that ThreadSanitizer can be told what it does.
#pragma once

#include "base/function_ref.h"

namespace hw {

/// Calls `body(thread, size)` on each thread of a team of `threads` at most; `size` is how many there are. Thread 0 is the caller's.
/// Returns when all have returned. `body` must not throw.
void team_region(int threads, FunctionRef<void(int, int)> body);

}  // namespace hw
