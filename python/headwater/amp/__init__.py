"""Mixed precision: `autocast` lowers the inputs of expensive ops to 16 bits, `GradScaler` keeps float16 gradients from
vanishing."""

from .autocast import autocast, get_autocast_dtype, is_autocast_available, is_autocast_enabled
from .grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast", "get_autocast_dtype", "is_autocast_available", "is_autocast_enabled"]
