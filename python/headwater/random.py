"""Random numbers: the default generator and its state. Numbers come from Philox, so they do not depend on threads or devices."""
from __future__ import annotations

from . import _C
from ._C import Generator, Tensor

default_generator: Generator = _C.default_generator()


def manual_seed(seed: int) -> Generator:
    """Seeds the default generator and returns it."""
    return default_generator.manual_seed(int(seed))


def seed() -> int:
    """Seeds the default generator with a number that cannot be foreseen and returns it."""
    import secrets

    value = secrets.randbits(64)
    default_generator.manual_seed(value)
    return value


def initial_seed() -> int:
    """The seed of the default generator."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The state of the default generator as an int64 tensor of two numbers: seed and draws."""
    s, draws = default_generator.get_state()
    signed = [v - (1 << 64) if v >= 1 << 63 else v for v in (s, draws)]
    return _C.tensor_from_data(signed, _C.int64, False)


def set_rng_state(new_state: Tensor) -> None:
    """Restores a state from get_rng_state()."""
    s, draws = (int(v) % (1 << 64) for v in new_state.tolist())
    default_generator.set_state((s, draws))


class fork_rng:  # noqa: N801  torch's name
    """A scope after which the default generator's state is what it was before."""

    def __init__(self, *args: object, enabled: bool = True, **kwargs: object):
        self._enabled = enabled

    def __enter__(self) -> None:
        self._state = default_generator.get_state()

    def __exit__(self, *exc: object) -> None:
        if self._enabled:
            default_generator.set_state(self._state)
