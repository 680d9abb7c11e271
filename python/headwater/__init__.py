"""Headwater (源流): a deep-learning framework. `import headwater as hw`.

Every operator is a function of this package and, where its first argument is a tensor, a method of `Tensor`; names, arguments and
defaults are torch's. The functions come from the C++ declarations: `help(hw.softmax)`, `python -m headwater.ops softmax`.
"""
from __future__ import annotations

import os as _os
from math import e as e
from math import inf as inf
from math import nan as nan
from math import pi as pi
from typing import Any as _Any

if _extension_dir := _os.environ.get("HEADWATER_EXTENSION_DIR"):  # another build than the release one: asan, debug
    __path__.insert(0, _extension_dir)

# libgomp reads its settings when it is loaded. By default its idle threads spin for milliseconds, which starves whatever else runs
# on the machine; a short spin keeps fork and join quick and lets idle threads sleep.
_patience = {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"}.isdisjoint(_os.environ)
if _patience:
    _os.environ["GOMP_SPINCOUNT"] = "5000"

from . import _C
from ._C import Generator, Tensor, dtype
from ._types import Size, device

if _patience:
    del _os.environ["GOMP_SPINCOUNT"]

bool = _C.bool
uint8, int8, int16, int32, int64 = _C.uint8, _C.int8, _C.int16, _C.int32, _C.int64
float16, bfloat16, float32, float64 = _C.float16, _C.bfloat16, _C.float32, _C.float64
complex64, complex128 = _C.complex64, _C.complex128
half, float, double = float16, float32, float64
short, int, long = int16, int32, int64
cfloat, cdouble = complex64, complex128
newaxis = None

from . import _registry

_registry.install(globals(), Tensor)

from . import (
    _printing,  # noqa: E402
    _tensor,  # noqa: E402  methods that are no operators
)
from ._functions import *  # noqa: E402,F403  the functions that are no operators
from ._functions import __all__ as _function_names  # noqa: E402
from ._settings import *  # noqa: E402,F403
from .aliases import install as _install_aliases  # noqa: E402
from .overloads import install as _install_overloads  # noqa: E402

_install_overloads(globals(), Tensor)
_install_aliases(globals(), Tensor)

from . import linalg  # noqa: E402

linalg.install(globals(), Tensor)

from . import _global  # noqa: E402
from ._global import broadcast as broadcast  # noqa: E402
from ._global import (  # noqa: E402
    distribute,
    from_local,
    implicit_broadcast,
    mesh,
    partial,
    partial_max,
    partial_min,
    partial_sum,
    signature,
)

_global.install(globals())

from . import autograd, memory, random  # noqa: E402
from .autograd import (  # noqa: E402
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    recompute,
    set_grad_enabled,
)
from .random import default_generator, get_rng_state, initial_seed, manual_seed, seed, set_rng_state  # noqa: E402

__version__: str = _C.build["version"]

_FUNCTIONAL = {  # functions of nn.functional that torch also has here
    "channel_shuffle",
    "cosine_embedding_loss",
    "cosine_similarity",
    "ctc_loss",
    "embedding_bag",
    "feature_alpha_dropout",
    "hinge_embedding_loss",
    "margin_ranking_loss",
    "pairwise_distance",
    "pdist",
    "pixel_shuffle",
    "pixel_unshuffle",
    "poisson_nll_loss",
    "rrelu",
    "triplet_margin_loss",
}

_LAZY = {
    "amp",
    "checkpoint",
    "cli",
    "compiler",
    "data",
    "distributed",
    "infer",
    "nn",
    "onnx",
    "ops",
    "optim",
    "profiler",
    "quantization",
    "serialization",
    "stream",
    "tuning",
}


def __getattr__(name: str) -> _Any:
    """Rooms are imported when first named: `import headwater` stays fast."""
    if name in _LAZY:
        import importlib

        return importlib.import_module(f"{__name__}.{name}")
    if name in _FUNCTIONAL:
        from .nn import functional

        return globals().setdefault(name, getattr(functional, name))
    if name in ("save", "load", "load_torch"):
        from . import serialization

        return getattr(serialization, name)
    if name in ("compile", "CompileError", "cond", "while_loop", "scan"):
        from . import compiler

        return getattr(compiler, name)
    if name in ("freeze", "FreezeError"):
        from . import infer

        return getattr(infer, name)
    if name == "profile":
        from .profiler import profile

        return profile
    if name in ("parallelize", "accumulate"):
        from . import distributed

        return getattr(distributed, name)
    if name == "autocast":
        from .amp import autocast

        return autocast
    raise AttributeError(f"module 'headwater' has no attribute '{name}'")


def __dir__() -> list[str]:
    lazy = (
        "save", "load", "autocast", "parallelize", "accumulate", "compile", "CompileError", "cond", "while_loop", "scan", "freeze",
        "FreezeError", "profile",
    )  # fmt: skip
    return sorted({*globals(), *_LAZY, *_FUNCTIONAL, *lazy})
