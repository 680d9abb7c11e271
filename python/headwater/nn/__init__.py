"""Neural networks: the Module system, layers, functions, initialisation. Names, arguments and defaults are torch's."""

from . import functional, init, modules, parameter, utils
from .modules import *  # noqa: F403
from .modules import __all__ as _layers
from .parameter import Buffer, Parameter, UninitializedParameter

__all__ = ["Buffer", "Parameter", "UninitializedParameter", "functional", "init", "modules", "parameter", "utils", *_layers]
