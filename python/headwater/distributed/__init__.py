"""Many devices: placing modules on meshes. Meshes, SBP and global tensors themselves are in the package: hw.mesh, hw.split, ..."""
from __future__ import annotations

from .parallelize import parallelize, place_batch
from .placing import place_module

__all__ = ["parallelize", "place_batch", "place_module"]
