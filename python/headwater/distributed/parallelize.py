"""hw.parallelize: a plan for a model on a mesh, as placements of its parameters, gradients, optimiser state and inputs."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import partial
from typing import Any, TypeVar

import headwater as hw
from headwater import nn

from .placing import call_placed, place_tensors, placed
from .stages import Pipeline, Stage, cut, layers_of, owners

M = TypeVar("M", bound="nn.Module")
PLANS = ("data", "zero1", "zero2", "zero3", "tensor", "sequence", "recompute")
_BY_DATA = ("data", "zero1", "zero2", "zero3")


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
    by_data = any(w in _BY_DATA for w in words)
    if mesh.ndim == 1 and data is None and model is None:
        if by_data and tensor:
            raise ValueError(f"parallelize: {mesh} has one axis for two plans; name its axes 'data' and 'model'")
        return (0, None) if by_data else (None, 0)
    if by_data and data is None:
        raise ValueError(f"parallelize: {mesh} has no axis named 'data', which the plan needs")
    if tensor and model is None:
        raise ValueError(f"parallelize: {mesh} has no axis named 'model', which the splits of tensors need")
    return data, model


def _split_over(sbp: Sequence[Any], axis: int, tensor: hw.Tensor, ranks: int) -> list[Any]:
    """As `sbp`, but split over mesh axis `axis` too: along the first axis of the tensor that nothing splits yet and that divides (slices
    of the first axis are dense: they go as they lie), else along the longest."""
    taken = {s.axis for s in sbp if s.is_split}
    free = [a for a in range(tensor.ndim) if a not in taken]
    if not free:
        return list(sbp)
    best = next((a for a in free if tensor.shape[a] % ranks == 0), max(free, key=lambda a: (tensor.shape[a], -a)))
    return [hw.split(best) if i == axis else s for i, s in enumerate(sbp)]


class _Plan:
    """Where the tensors of a model lie on the mesh of a stage; all stages have equal meshes but for their ranks."""

    def __init__(self, model: nn.Module, mesh: Any, plan: Any):
        self.words, table = _words(plan)
        self.sequence = self._of_model(model, "sequence") if "sequence" in self.words else {}
        if table is None and ("tensor" in self.words or self.sequence):
            table = self._of_model(model, "tensor")
        self.ndim = mesh.ndim
        self.data, self.axis = _axes(mesh, self.words, table is not None)
        self.ranks = 1 if self.data is None else mesh.shape[self.data]
        self.zero = 0 if self.data is None else max((int(w[4:]) for w in self.words if w.startswith("zero")), default=0)
        self.table = table or {}

    @staticmethod
    def _of_model(model: nn.Module, word: str) -> Mapping[str, Any]:
        table = getattr(model, f"{word}_plan", None)
        if table is None:
            remedy = "give a dict from patterns of names to splits" if word == "tensor" else "set one, as models/gpt2 does"
            raise ValueError(f"parallelize: {type(model).__name__} has no {word}_plan; {remedy}")
        return table  # type: ignore[no-any-return]

    def by_tensor(self, name: str) -> list[Any]:
        sbp = [hw.broadcast] * self.ndim
        for pattern, value in self.table.items():
            if fnmatchcase(name, pattern):
                cut = hw.split(value) if isinstance(value, int) else value
                return [cut if i == self.axis else s for i, s in enumerate(sbp)]
        return sbp

    def tensor(self, name: str, tensor: hw.Tensor) -> list[Any]:
        sbp = self.by_tensor(name)
        whole = self.zero != 3 or self.data is None or not isinstance(tensor, nn.Parameter)
        return sbp if whole else _split_over(sbp, self.data, tensor, self.ranks)  # type: ignore[arg-type]

    def state(self, name: str, tensor: hw.Tensor) -> list[Any]:
        return self.by_tensor(name) if self.data is None else _split_over(self.by_tensor(name), self.data, tensor, self.ranks)

    def batch(self) -> list[Any]:
        return [hw.split(0) if i == self.data else hw.broadcast for i in range(self.ndim)]

    def check_names(self, model: nn.Module) -> None:
        names = [n for n, _ in [*model.named_parameters(), *model.named_buffers()]]
        for pattern in self.table:
            if not any(fnmatchcase(n, pattern) for n in names):
                raise ValueError(f"parallelize: no parameter or buffer has a name like '{pattern}'")


def _split_sequence(model: nn.Module, table: Mapping[str, str], axis: int | None) -> None:
    """Between the layers that split tensors, activations (N, length, ...) are split along their length."""

    def lying(value: Any, how: Any) -> Any:
        if not isinstance(value, hw.Tensor) or value.ndim < 3:
            return value
        return value.to_global(value.mesh, [how if i == axis else s for i, s in enumerate(value.sbp)])

    def gather(module: nn.Module, args: tuple[Any, ...]) -> tuple[Any, ...]:
        return (lying(args[0], hw.broadcast), *args[1:])

    def scatter(module: nn.Module, args: tuple[Any, ...], output: Any) -> Any:
        return lying(output, hw.split(1))

    for pattern, what in table.items():
        found = [m for name, m in model.named_modules() if fnmatchcase(name, pattern)]
        if not found or what not in ("gather", "scatter"):
            raise ValueError(f"parallelize: sequence_plan maps names of modules to 'gather' or 'scatter', got '{pattern}': {what!r}")
        for m in found:
            if what == "gather":
                m.register_forward_pre_hook(gather)
            else:
                m.register_forward_hook(scatter)


def _cut(model: nn.Module, mesh: Any, plan: Any, sizes: Sequence[int] | None) -> tuple[_Plan, Callable[[hw.Tensor], Any], list[Stage]]:
    """The plan of each stage, on which mesh each tensor lies, and the stages if there are any."""
    if "pipe" not in mesh.names:
        if sizes is not None:
            raise ValueError(f"parallelize: stages are given, but {mesh} has no axis named 'pipe'")
        return _Plan(model, mesh, plan), lambda tensor: mesh, []
    stages = cut(model, mesh, sizes)
    found = _Plan(model, stages[0].mesh, plan)
    owner = owners(model, stages)
    return found, lambda tensor: owner[id(tensor)].mesh, stages


def _searched(model: M, mesh: Any, stages: Sequence[int] | None, search: Mapping[str, Any]) -> M:
    from .search import search_plan  # which rehearses what this module does

    if "loss_of" not in search or "inputs" not in search:
        raise TypeError("parallelize: plan='auto' rehearses a step; give inputs, targets and loss_of as for hw.accumulate")
    if stages is not None:
        raise TypeError("parallelize: plan='auto' finds the stages itself")
    best = search_plan(model, mesh, **search)[0]
    placed_mesh = hw._C.make_mesh(mesh.device, list(best.mesh.shape), list(best.mesh.names), list(mesh.ranks))
    parallelize(model, placed_mesh, best.plan, stages=best.stages)
    model.__dict__["plan"] = best
    return model


def parallelize(model: M, mesh: Any, plan: Any = "data", *, stages: Sequence[int] | None = None, **search: Any) -> M:
    """Places a model on a mesh by a plan; the training script stays as it is.

    Every process must hold the same parameters before, as after the same hw.manual_seed. Called with ordinary tensors, which
    every process holds whole, the model splits them over its mesh; `hw.distributed.place_batch` does so for targets.

    Args:
        model: any nn.Module; it is returned.
        mesh: its axes named "data", "model" and "pipe", as many of them as are wanted, or a mesh of one axis. Over "pipe" the
            model is cut into stages; `hw.accumulate` lets them work at the same time.
        plan: one of these, or several ("tensor+zero1", or a list):
            "data": every rank of the data axis has all parameters and a part of the batch.
            "zero1": also splits the optimiser's state over the data axis; "zero2" also the gradients, "zero3" also the parameters.
            "tensor": splits parameters over the model axis as the model's `tensor_plan` says.
            a dict: the same, with patterns of names, as {"*.fc1.*": hw.split(0), "*.fc2.weight": hw.split(1)}; or just the axes.
            "sequence": also splits what lies between these layers (norms, dropout, residuals) along the sequence, as the
                model's `sequence_plan` says (Korthikanti et al., "Reducing activation recomputation", 2022).
            "auto": the cheapest of all these that `hw.distributed.search_plan` finds, whose arguments follow: `inputs`, `targets`,
                `loss_of` and so on, of one step. `model.plan` then is the Estimate of what was chosen. A mesh of one axis without such
                a name is arranged as the plan wants it.
            "recompute": the layers' inner results are not kept but computed again, see hw.recompute.
        stages: how many layers each stage gets; default: as even as their parameters allow.
    Raises ValueError for a plan that the mesh has no axis for. Results are those of one device, up to the order of sums.

    >>> model = hw.parallelize(hw.nn.Linear(4, 2), hw.mesh("cpu", 2), "zero1")
    >>> model(hw.ones(6, 4)).sbp
    [S(0)]
    """
    if plan == "auto":
        return _searched(model, mesh, stages, search)
    if search:
        raise TypeError(f"parallelize: {', '.join(search)} belong to plan='auto', but plan is {plan!r}")
    found, mesh_of, cuts = _cut(model, mesh, plan, stages)
    found.check_names(model)
    place_tensors(model, lambda name, tensor: (mesh_of(tensor), found.tensor(name, tensor)))
    call_placed(model)
    if found.zero:
        for name, p in model.named_parameters():
            p._state_sbp = found.state(name, p)
            if found.zero > 1:
                p._gradient_sbp = p._state_sbp
                hw._C.set_gradient_sbp(p, p._state_sbp)
    _split_sequence(model, found.sequence, found.axis)
    if "recompute" in found.words:
        for layer in [layer for s in cuts for layer in s.layers] or layers_of(model):
            if not isinstance(layer.function, nn.Module):
                continue
            layer.recompute = True
            if not cuts:
                layer.function.__dict__["forward"] = partial(hw.recompute, layer.function.forward)
    model.__dict__["_input_place"] = (cuts[0].mesh if cuts else mesh, found.batch())
    model.__dict__["_batch_place"] = (cuts[-1].mesh if cuts else mesh, found.batch())
    if cuts:
        pipeline = Pipeline(cuts, found.batch())
        model.__dict__["_pipeline"] = pipeline
        model.__dict__["forward"] = pipeline.forward
    return model


def place_batch(model: nn.Module, *tensors: Any) -> Any:
    """Ordinary tensors, of which every process holds the whole, placed as the targets of a parallelized model, which are where its
    results are (and as its inputs, where it has no stages); one or a tuple."""
    place = model.__dict__.get("_batch_place")
    if place is None:
        raise ValueError(f"place_batch: {type(model).__name__} was not placed by hw.parallelize")
    found = tuple(placed(t, *place) for t in tensors)
    return found[0] if len(found) == 1 else found
