"""Many devices: placing modules on meshes. Meshes, SBP and global tensors themselves are in the package: hw.mesh, hw.split, ..."""
from __future__ import annotations

from .placing import place_module

__all__ = ["place_module"]
