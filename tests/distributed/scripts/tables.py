"""A sampled classifier and split tables over two processes; the losses, and which rows each process has memory for."""

import json
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[3])]

import numpy as np  # noqa: E402
from table_programs import SPARSE, head, train_dlrm, train_head  # noqa: E402

import headwater as hw  # noqa: E402
import headwater.distributed as dist  # noqa: E402

mesh = hw.mesh("cpu", 2)
found = {"head": [np.asarray(x).tolist() for x in train_head(mesh, 43, 0.3, "sgd")],
         "dlrm": [np.asarray(x).tolist() for x in train_dlrm(mesh, SPARSE["adagrad"], True)[:1]]}
weight = head(mesh, 43, 0.3).weight
(_, (rows, _)), = hw._C.hosted_boxes(mesh, weight.sbp, weight.shape)
everybody = [hw.zeros(3, dtype=hw.int64) for _ in range(2)]
dist.all_gather(everybody, hw.tensor([*rows, len(hw._C.local_parts(weight))]))
found["rows"], found["hosted"] = [t.tolist()[:2] for t in everybody], [t.tolist()[2] for t in everybody]
if dist.get_rank() == 0:
    Path(sys.argv[1]).write_text(json.dumps(found))
