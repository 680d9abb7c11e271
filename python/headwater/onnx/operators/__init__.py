"""The handlers, a file for each family. A handler calls Headwater's operators; it has no numerics and no shape rules of its own.

Every file of this folder is imported, so that what is added here is found.
"""
from __future__ import annotations

import importlib
import pkgutil

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
