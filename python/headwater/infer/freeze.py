"""`hw.freeze`: a model compiled for inference, with its weights, as one file."""
from __future__ import annotations

import contextlib
import inspect
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from os import PathLike, fspath
from typing import Any

import headwater as hw

from .. import _C
from .._C import Tensor
from ..compiler.origins import user_line
from ..compiler.program import capture
from ..compiler.session import CompileError
from ..compiler.tree import flatten, is_array, rebuild
from .preprocess import Preprocess, preprocessed

_CLOSE = {hw.float16: 1e-2, hw.bfloat16: 5e-2}  # of the largest value; 1e-3 for the others
_CLOSE_IN_INTEGERS = 5e-2  # values that lie between two steps go to either, and layers behind see that


class FreezeError(CompileError):
    """A model cannot be frozen. The message says why, and the way out."""


def freeze(
    model: Any,
    inputs: Any,
    path: str | PathLike[str] | None = None,
    *,
    output_names: Sequence[str] | None = None,
    packed: bool = True,
    tests: bool = True,
    notes: Mapping[str, str] | None = None,
    name: str | None = None,
    preprocess: Preprocess | Mapping[str, Preprocess] | None = None,
    key: bytes | None = None,
) -> bytes | None:
    """Compiles a model in eval mode, without gradients, and writes plan and weights into one file that needs no Python to run.

    Args:
        model: a Module (its modes are set back afterwards), or a function of tensors.
        inputs: example arguments: a tensor, a tuple of arguments, or a dict of keyword arguments. A list of such gives a plan for
            each, sharing the weights; the model then runs on these shapes. What is no tensor is part of the model.
        path: of the file, `.hwm`; None: the bytes are returned.
        output_names: of the output tensors in order; by default the keys of a returned dict, or "output", or "output0", ...
        packed: True: the file holds what is computed of the weights alone (packed and folded weights), and is loaded by mapping
            it. False: it holds plain weights and packs them when loaded; smaller where packing copies them, slower to load.
        tests: whether the file holds the example inputs with what the model makes of them, for `headwater check`. Of a model that
            is computed in integers: with what the frozen model makes of them, which is within 5 % of the largest value.
        notes: texts to keep with the model.
        name: of the model; by default that of its class or function.
        preprocess: what is done to uint8 images first, to the first parameter or to those named. The example inputs are then pixels,
            and so is what the frozen model takes; the note `preprocess` says what is done.
        key: 32 random bytes (`secrets.token_bytes(32)`), with which the file is encrypted (AES-256-GCM) and must be loaded. It is in
            no file: who loses it loses the model. Needs OpenSSL's libcrypto, here and where the file is loaded.

    Raises:
        FreezeError: for a model that cannot be captured, changes its state, draws random numbers, or whose frozen form does not
            give what the model gives.

    >>> net = hw.nn.Sequential(hw.nn.Linear(4, 8), hw.nn.ReLU(), hw.nn.Linear(8, 2))
    >>> data = hw.freeze(net, hw.ones(3, 4))
    >>> hw.infer.load(data)(hw.ones(3, 4)).shape
    headwater.Size([3, 2])
    """
    model = getattr(model, "_original", model) if isinstance(model, hw.nn.Module) else model
    calls = [_call_of(i) for i in (inputs if isinstance(inputs, list) else [inputs])]
    if not calls:
        raise ValueError("freeze() needs example inputs: a tensor, a tuple, a dict, or a list of these for several shapes")
    function, steps = (model, {}) if preprocess is None else preprocessed(model, preprocess)
    with _as_deployed(model):
        frozen = _Frozen(function, calls, name, output_names, packed, tests)
    for place, words in (_notes_of(steps) | dict(notes or {})).items():
        frozen.native.note(str(place), str(words))
    if key is not None:
        return _written(_C.encrypt_frozen(frozen.native.data(), key), path)
    if path is None:
        return bytes(frozen.native.data())
    frozen.native.save(fspath(path))
    return None


def _written(data: bytes, path: str | PathLike[str] | None) -> bytes | None:
    """Written beside and renamed, so that the file is there whole or not at all; without a path given back."""
    if path is None:
        return data
    beside = f"{fspath(path)}.{os.getpid()}.tmp"
    try:
        with open(beside, "wb") as file:
            file.write(data)
        os.replace(beside, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.remove(beside)
    return None


def _notes_of(steps: Mapping[str, Preprocess]) -> dict[str, str]:
    return {"preprocess": "\n".join(f"{name}: {step.text()}" for name, step in steps.items())} if steps else {}


@contextlib.contextmanager
def _as_deployed(model: Any) -> Iterator[None]:
    """No gradients, no autocast of training, modules in eval mode; all as before afterwards."""
    modules = list(model.modules()) if isinstance(model, hw.nn.Module) else []
    modes = [m.training for m in modules]
    try:
        if modules:
            model.eval()
        with hw.no_grad():
            yield
    finally:
        for module, training in zip(modules, modes, strict=True):
            module.training = training


def _call_of(given: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments and keyword arguments, with contiguous tensors in place of arrays."""

    def tensor(leaf: Any) -> Any:
        if is_array(leaf):
            leaf = hw.from_numpy(leaf)
        return leaf.detach().contiguous() if isinstance(leaf, Tensor) else leaf

    args: Any = given if type(given) is tuple else () if isinstance(given, dict) else (given,)
    kwargs: Any = dict(given) if isinstance(given, dict) else {}
    return rebuild(args, tensor), rebuild(kwargs, tensor)


def _input_names(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[str]:
    """A name for each tensor in the order in which `flatten` meets them: "x", or "state.0" inside of a tuple."""
    forward = function.forward if isinstance(function, hw.nn.Module) else function
    try:
        parameters = list(inspect.signature(forward).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names: list[str] = []
    seen: list[Tensor] = []

    def add(value: Any, place: str) -> None:
        if isinstance(value, Tensor):
            if not any(value is t for t in seen):
                seen.append(value)
                names.append(place)
        elif isinstance(value, (tuple, list)):
            for i, v in enumerate(value):
                add(v, f"{place}.{i}")
        elif isinstance(value, dict):
            for key, v in value.items():
                add(v, f"{place}.{key}")

    for i, value in enumerate(args):
        plain = i < len(parameters) and parameters[i].kind in (
            inspect.Parameter.POSITIONAL_ONLY,
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
        )
        add(value, parameters[i].name if plain else f"input{i}")
    for key, value in kwargs.items():
        add(value, key)
    return names


def _outputs(result: Any, place: str = "") -> Iterator[tuple[str, Tensor]]:
    """The tensors of a returned tree with their places in it."""
    if isinstance(result, Tensor):
        yield place, result
    elif isinstance(result, dict):
        for key, value in result.items():
            yield from _outputs(value, f"{place}.{key}" if place else str(key))
    elif hasattr(result, "_fields"):
        for key in result._fields:
            yield from _outputs(getattr(result, key), f"{place}.{key}" if place else key)
    elif isinstance(result, (tuple, list)):
        for i, value in enumerate(result):
            yield from _outputs(value, f"{place}.{i}" if place else f"output{i}")
    elif result is not None:
        raise FreezeError(f"the model returns an object of type {type(result).__name__}; a frozen model returns tensors")


class _Frozen:
    """A native Freezer, filled."""

    def __init__(
        self, model: Any, calls: list[Any], name: str | None, output_names: Sequence[str] | None, packed: bool, tests: bool
    ) -> None:
        self._model = model
        self._name: str = name or str(getattr(model, "__name__", type(model).__name__))
        self.native: Any = None
        for args, kwargs in calls:
            want = list(_outputs(model(*args, **kwargs)))
            names = [place or "output" for place, _ in want]
            if output_names is not None:
                if len(output_names) != len(names):
                    raise ValueError(f"the model has {len(names)} outputs ({', '.join(names)}), got {len(output_names)} names")
                names = list(output_names)
            self._add(args, kwargs, names, [t.detach().contiguous() for _, t in want], packed, tests)

    def _add(
        self, args: Any, kwargs: Any, output_names: list[str], want: list[Tensor], packed: bool, tests: bool
    ) -> None:
        input_names = _input_names(self._model, args, kwargs)
        if self.native is None:
            self._names = (input_names, output_names)
            self.native = _C.Freezer(self._name, input_names, output_names, packed)
        elif self._names != (input_names, output_names):
            raise FreezeError(
                f"{self._name}: the calls differ in more than shapes: {self._names} and {(input_names, output_names)}"
            )
        tensors: list[Any] = []
        others: list[Any] = []
        flatten((args, kwargs), tensors, others)
        try:
            self.native.add(self._captured(args, kwargs, tensors, others, copies=False))
        except ValueError as error:
            if "share memory" not in str(error):
                raise FreezeError(f"{self._name}: {error}") from None
            self.native.add(self._captured(args, kwargs, tensors, others, copies=True))
        self.native.add_test(tensors, want)
        have = self._compare(tensors, want, output_names)
        if not tests:
            self.native.add_test([], [])
        elif self.native.in_integers():
            self.native.add_test(tensors, have)

    def _captured(self, args: Any, kwargs: Any, tensors: list[Tensor], others: list[Any], copies: bool) -> Any:
        model = self._model

        def call(*args: Any, **kwargs: Any) -> list[Tensor]:
            results = [t.contiguous() for _, t in _outputs(model(*args, **kwargs))]
            return [t.clone() for t in results] if copies else results

        try:
            return capture(call, self._name, args, kwargs, tensors, others).parts
        except (CompileError, RuntimeError) as error:
            if not isinstance(error, CompileError) and "hw.compile" not in str(error):
                raise
            raise FreezeError(f"{self._name}: {error} (at {user_line(error)})") from error

    def _compare(self, tensors: list[Tensor], want: list[Tensor], names: list[str]) -> list[Tensor]:
        """The form added last against the model; what it gives."""
        have: list[Tensor] = list(self.native.run_last(tensors))
        integers = self.native.in_integers()
        for name, a, b in zip(names, want, have, strict=True):
            if a.numel() == 0 or a.equal(b):
                continue
            if a.dtype == hw.bool or not (a.is_floating_point() or a.is_complex()):
                raise FreezeError(f"{self._name}: output {name} of the frozen model differs from the model's")
            scale = max(a.abs().max().item(), 1e-30)
            off = (a - b).abs().max().item() / scale
            close = max(_CLOSE.get(a.dtype, 1e-3), _CLOSE_IN_INTEGERS if integers else 0.0)
            if not off <= close and a.isfinite().all().item():
                raise FreezeError(
                    f"{self._name}: output {name} of the frozen model differs from the model's by {off:.1e} of the largest value"
                )
        return have
