"""Many devices: modules on meshes, and ranks in several processes with torch.distributed's names.

Start ranks by `headwater launch -n 4 train.py`, or by any MPI launcher.

Every function joins the world by itself: under a launcher the launcher's, else a world of one rank, so that a script runs unchanged
without one. Errors of one rank end all ranks, with the first cause.
"""

from __future__ import annotations

from .accumulate import accumulate
from .collectives import (
    Work,
    all_gather,
    all_gather_into_tensor,
    all_reduce,
    all_reduce_coalesced,
    all_to_all,
    all_to_all_single,
    barrier,
    broadcast,
    irecv,
    isend,
    recv,
    reduce,
    reduce_scatter,
    reduce_scatter_tensor,
    send,
)
from .estimate import Device, Estimate, estimate, measure_device, sizes_only
from .gradients import ConsistencyCheck, average_gradients, broadcast_parameters, check_equal
from .groups import ProcessGroup, ReduceOp, get_process_group_ranks, new_group
from .parallelize import parallelize, place_batch
from .placing import empty, new_table, place_module, tables_on
from .search import search_plan
from .world import (
    abort,
    destroy_process_group,
    get_local_rank,
    get_rank,
    get_world_size,
    init,
    init_process_group,
    is_available,
    is_initialized,
    recover,
)
