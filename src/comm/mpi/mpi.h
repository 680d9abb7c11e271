// Ranks in processes that an MPI launcher started: the Comm of this process.
#pragma once

#include <string>

#include "comm/comm.h"
#include "comm/mpi/table.h"

namespace hw {

/// What the launcher's environment says of the number of ranks; 0 when there is no launcher.
int launched_size();

struct MpiComm {
  Ref<Comm> comm;  // null if `status` is not Ok
  MpiWorld world;
  Status status;
  void (*finish)() = nullptr;  // ends MPI; on the main thread, after the Comm is gone, and only when all went well
};

/// Opens `plugin` (the path of libheadwater_mpi.so) and starts MPI. On the program's main thread.
MpiComm open_mpi(const std::string& plugin);

}  // namespace hw
