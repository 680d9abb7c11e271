"""Checkpoints of training: a folder of safetensors shards written by all ranks at once, complete or not there at all.

    DIR/checkpoint-00000007/index.json               what it holds, with a checksum for each piece
    DIR/checkpoint-00000007/rank-00000.safetensors   readable by itself, by any program that knows the format

A save writes into a hidden folder, which gets its name in the last step; a crash at any moment leaves the checkpoints before it.
"""

from __future__ import annotations

from .reading import Checkpoint, load, load_into, load_local, newest
from .writing import Saving, Shard, save

__all__ = ["Checkpoint", "Saving", "Shard", "load", "load_into", "load_local", "newest", "save"]
