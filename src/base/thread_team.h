// The thread team: OpenMP underneath, so that it is the same team as oneDNN's.
#pragma once

#include <cstdint>

#include "base/function_ref.h"

namespace hw {

/// Threads used by kernels. Default: HEADWATER_NUM_THREADS, else OMP_NUM_THREADS, else the cores this process may use.
int num_threads();
void set_num_threads(int n);

/// Calls body(begin, end) over [0, n) in pieces of at least `grain`; runs on the caller when one piece is enough, inside
/// another parallel region, and in a child of fork() (where the team does not exist). `body` must not throw.
/// The pieces depend only on n, grain and num_threads(), so results are the same bits from run to run.
void parallel_for(int64_t n, int64_t grain, FunctionRef<void(int64_t, int64_t)> body);

/// How many pieces parallel_for would make, and the index of the piece that starts at `begin` (for per-piece partial results).
int64_t parallel_pieces(int64_t n, int64_t grain);

}  // namespace hw
