"""A module's parameters and buffers as global tensors."""
from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, TypeVar

import headwater as hw
from headwater import nn

M = TypeVar("M", bound="nn.Module")


class _Tables(threading.local):
    place: Any = None  # (mesh, sbp) of tables that are made now


_tables = _Tables()


def empty(shape: Sequence[int], mesh: Any, sbp: Any, dtype: Any = None) -> hw.Tensor:
    """A global tensor whose values are not set: each rank makes its part, and the whole is made nowhere."""
    boxes = hw._C.hosted_boxes(mesh, sbp, shape)
    parts = [hw.empty([end - begin for begin, end in box], dtype=dtype) for _, box in boxes]
    return hw.from_local(parts, mesh, sbp, shape=list(shape))


@contextlib.contextmanager
def tables_on(mesh: Any, sbp: Any) -> Iterator[None]:
    """A context in which Embedding, EmbeddingBag, CosineLinear and PartialFC make their tables on a mesh, as [hw.split(0)].

    No rank ever holds the whole table. Its initial values are those of one device after the same hw.manual_seed. Other parameters are
    made as always: place them afterwards with hw.parallelize or Module.to_global, which leave a table that lies right where it is.

    >>> with hw.distributed.tables_on(hw.mesh("cpu", 2), hw.split(0)):
    ...     table = hw.nn.Embedding(1000, 8)
    >>> table.weight.to_local(1).shape
    headwater.Size([500, 8])
    """
    before, _tables.place = _tables.place, (mesh, sbp)
    try:
        yield
    finally:
        _tables.place = before


def new_table(shape: Sequence[int], device: Any = None, dtype: Any = None) -> hw.Tensor:
    """What a layer fills with its table: empty, and global within `tables_on`."""
    if _tables.place is None:
        return hw.empty(tuple(shape), device=device, dtype=dtype)
    mesh, sbp = _tables.place
    return empty(shape, mesh, sbp, dtype)


def _chooser(mesh: Any, sbp: Any) -> Callable[[str, hw.Tensor], Any]:
    """From what the user gave to a function of name and tensor."""
    if callable(sbp):
        return sbp
    if not isinstance(sbp, Mapping):
        return lambda name, tensor: sbp
    unused = dict.fromkeys(sbp)

    def choose(name: str, tensor: hw.Tensor) -> Any:
        for pattern, value in sbp.items():
            if fnmatchcase(name, pattern):
                unused.pop(pattern, None)
                return value
        return [hw.broadcast] * mesh.ndim

    choose.unused = unused  # type: ignore[attr-defined]
    return choose


def places_of(module: nn.Module) -> Iterator[tuple[str, nn.Module, str, bool]]:
    """Every parameter and buffer: full name, its module, its name there, whether it is a parameter."""
    for prefix, owner in module.named_modules():
        for name in (*owner._parameter_names, *owner._buffer_names):
            if owner.__dict__[name] is not None:
                yield f"{prefix}.{name}" if prefix else name, owner, name, name in owner._parameter_names


def _tensors(value: Any) -> Iterator[hw.Tensor]:
    if isinstance(value, hw.Tensor):
        yield value
    elif isinstance(value, Mapping):
        for v in value.values():
            yield from _tensors(v)
    elif isinstance(value, (list, tuple)):
        for v in value:
            yield from _tensors(v)


def placed(value: Any, mesh: Any, sbp: Any) -> Any:
    """The value with every ordinary tensor in it placed; 0-d ones stay."""
    if isinstance(value, hw.Tensor):
        return value if value.is_global or value.ndim == 0 else value.to_global(mesh, sbp)
    if isinstance(value, Mapping):
        return {k: placed(v, mesh, sbp) for k, v in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(placed(v, mesh, sbp) for v in value))
    return type(value)(placed(v, mesh, sbp) for v in value) if isinstance(value, (list, tuple)) else value


def _enter(module: nn.Module, args: Any, kwargs: Any) -> Any:
    batch = module.__dict__.get("_input_place")
    if batch is not None:  # of hw.parallelize
        args, kwargs = placed(args, *batch), placed(kwargs, *batch)
    for t in _tensors([args, kwargs]):
        if t.ndim and not t.is_global:
            raise TypeError(
                f"{type(module).__name__} is placed on a mesh, but is called with an ordinary tensor of shape {tuple(t.shape)}. "
                "Place it too, with hw.distribute(tensor, mesh, sbp)."
            )
    module.__dict__["_entered"] += 1
    hw._C.count_implicit_broadcast(1)
    return args, kwargs


def _leave(module: nn.Module, args: Any, output: Any) -> None:
    if module.__dict__["_entered"]:  # this hook runs too when the call was refused
        module.__dict__["_entered"] -= 1
        hw._C.count_implicit_broadcast(-1)


def place_module(module: M, mesh: Any, sbp: Any) -> M:
    """Places all parameters, their gradients and all buffers of a module on a mesh, in place. Parameters keep their identity.

    Every process must hold the same values before, as after the same hw.manual_seed. Tensors that the module makes while it
    runs (positions, masks) are taken as the same on every process.

    Args:
        module: any nn.Module; it is returned.
        mesh: as hw.mesh makes it.
        sbp: one for each axis of the mesh, as [hw.broadcast]; or a dict from patterns of names ("*.weight") to that, where what
            no pattern matches is broadcast; or a function of name and tensor.
    Raises ValueError for a pattern that matches nothing, TypeError when the module is called with ordinary tensors.

    >>> model = hw.nn.Linear(4, 2).to_global(hw.mesh("cpu", 2), {"weight": hw.split(0), "bias": hw.split(0)})
    >>> model.weight.sbp
    [S(0)]
    """
    choose = _chooser(mesh, sbp)
    place_tensors(module, lambda name, tensor: (mesh, choose(name, tensor)))
    unused = getattr(choose, "unused", {})
    if unused:
        raise ValueError(f"place_module: no parameter or buffer has a name like {', '.join(map(repr, unused))}")
    call_placed(module)
    return module


def place_tensors(module: nn.Module, choose: Callable[[str, hw.Tensor], tuple[Any, Any]]) -> None:
    """Every parameter, its gradient and every buffer goes to the mesh and SBP that `choose` gives for the first of its names."""
    done: dict[int, tuple[hw.Tensor, hw.Tensor]] = {}  # by id: before, which keeps the id taken, and after
    with hw.no_grad():
        for full, owner, name, is_parameter in places_of(module):
            tensor = owner.__dict__[name]
            place = choose(full, tensor)
            if id(tensor) not in done:
                done[id(tensor)] = tensor, _parameter_at(tensor, place) if is_parameter else tensor.to_global(*place)
            owner.__dict__[name] = done[id(tensor)][1]


def _parameter_at(tensor: hw.Tensor, place: tuple[Any, Any]) -> hw.Tensor:
    """The parameter itself, in another place."""
    grad = tensor.grad
    tensor.data = tensor.detach().to_global(*place)
    if grad is not None:
        tensor.grad = grad.to_global(*place)
    return tensor


def call_placed(module: nn.Module) -> None:
    """From now on calls of the module see to their inputs, and what it makes on the way is the same on every process."""
    if "_entered" not in module.__dict__:
        module.__dict__["_entered"] = 0
        module.register_forward_pre_hook(_enter, with_kwargs=True)
        module.register_forward_hook(_leave, always_call=True)
