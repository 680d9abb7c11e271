"""hw.parallelize: a plan for a model on a mesh, as placements of its parameters, gradients, optimiser state and inputs."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, TypeVar

import headwater as hw
from headwater import nn

from .placing import place_module, placed

M = TypeVar("M", bound="nn.Module")
PLANS = ("data", "zero1", "zero2", "zero3", "tensor")


def _words(plan: Any) -> tuple[list[str], Mapping[str, Any] | None]:
    """The named parts of a plan, and a dict of splits if there is one."""
    parts = [plan] if isinstance(plan, (str, Mapping)) else list(plan)
    words = [w for p in parts if isinstance(p, str) for w in p.replace("+", " ").split()]
    tables = [p for p in parts if isinstance(p, Mapping)]
    for w in words:
        if w not in PLANS:
            raise ValueError(f"parallelize: there is no plan '{w}'; the plans are {', '.join(PLANS)}, or a dict from patterns to splits")
    if len(tables) > 1:
        raise ValueError("parallelize: one dict of splits at most")
    return words, tables[0] if tables else None


def _axes(mesh: Any, words: Sequence[str], tensor: bool) -> tuple[int | None, int | None]:
    """The mesh axes for data and for tensors."""
    names = list(mesh.names)
    data = names.index("data") if "data" in names else None
    model = names.index("model") if "model" in names else None
    by_data = any(w != "tensor" for w in words)
    if mesh.ndim == 1 and data is None and model is None:
        if by_data and tensor:
            raise ValueError(f"parallelize: {mesh} has one axis for two plans; name its axes 'data' and 'model'")
        return (0, None) if by_data else (None, 0)
    if by_data and data is None:
        raise ValueError(f"parallelize: {mesh} has no axis named 'data', which the plan needs")
    if tensor and model is None:
        raise ValueError(f"parallelize: {mesh} has no axis named 'model', which the splits of tensors need")
    return data, model


def _split_over(sbp: Sequence[Any], axis: int, tensor: hw.Tensor) -> list[Any]:
    """As `sbp`, but split over mesh axis `axis` too, along the first axis of the tensor that nothing splits yet."""
    taken = {s.axis for s in sbp if s.is_split}
    free = [a for a in range(tensor.ndim) if a not in taken]
    if not free:
        return list(sbp)
    best = max(free, key=lambda a: (tensor.shape[a], -a))
    return [hw.split(best) if i == axis else s for i, s in enumerate(sbp)]


def parallelize(model: M, mesh: Any, plan: Any = "data") -> M:
    """Places a model on a mesh by a plan; the training script stays as it is.

    Every process must hold the same parameters before, as after the same hw.manual_seed. Called with ordinary tensors, which
    every process holds whole, the model splits them over its mesh; `hw.distributed.place_batch` does so for targets.

    Args:
        model: any nn.Module; it is returned.
        mesh: its axes named "data" and "model", or a mesh of one axis.
        plan: one of these, or several ("tensor+zero1", or a list):
            "data": every rank of the data axis has all parameters and a part of the batch.
            "zero1": also splits the optimiser's state over the data axis; "zero2" also the gradients, "zero3" also the parameters.
            "tensor": splits parameters over the model axis as the model's `tensor_plan` says.
            a dict: the same, with patterns of names, as {"*.fc1.*": hw.split(0), "*.fc2.weight": hw.split(1)}; or just the axes.
    Raises ValueError for a plan that the mesh has no axis for. Results are those of one device, up to the order of sums.

    >>> model = hw.parallelize(hw.nn.Linear(4, 2), hw.mesh("cpu", 2), "zero1")
    >>> model(hw.ones(6, 4)).sbp
    [S(0)]
    """
    words, table = _words(plan)
    if "tensor" in words:
        if table is None:
            table = getattr(model, "tensor_plan", None)
        if table is None:
            raise ValueError(f"parallelize: {type(model).__name__} has no tensor_plan; give a dict from patterns of names to splits")
    data, axis = _axes(mesh, words, table is not None)
    zero = max((int(w[4:]) for w in words if w.startswith("zero")), default=0)
    table = table or {}

    def split_tensor(name: str) -> list[Any]:
        sbp = [hw.broadcast] * mesh.ndim
        for pattern, value in table.items():
            if fnmatchcase(name, pattern):
                cut = hw.split(value) if isinstance(value, int) else value
                return [cut if i == axis else s for i, s in enumerate(sbp)]
        return sbp

    def choose(name: str, tensor: hw.Tensor) -> list[Any]:
        sbp = split_tensor(name)
        return _split_over(sbp, data, tensor) if zero == 3 and data is not None and isinstance(tensor, nn.Parameter) else sbp

    names = [n for n, _ in [*model.named_parameters(), *model.named_buffers()]]
    for pattern in table:
        if not any(fnmatchcase(n, pattern) for n in names):
            raise ValueError(f"parallelize: no parameter or buffer has a name like '{pattern}'")
    place_module(model, mesh, choose)
    if zero and data is not None:
        for name, p in model.named_parameters():
            state = _split_over(split_tensor(name), data, p)
            p._state_sbp = state
            if zero > 1:
                hw._C.set_gradient_sbp(p, state)
    batch = [hw.split(0) if i == data else hw.broadcast for i in range(mesh.ndim)]
    model.__dict__["_batch_place"] = (mesh, batch)
    return model


def place_batch(model: nn.Module, *tensors: Any) -> Any:
    """Ordinary tensors, of which every process holds the whole, placed as the inputs of a parallelized model; one or a tuple."""
    place = model.__dict__.get("_batch_place")
    if place is None:
        raise ValueError(f"place_batch: {type(model).__name__} was not placed by hw.parallelize")
    found = tuple(placed(t, *place) for t in tensors)
    return found[0] if len(found) == 1 else found
