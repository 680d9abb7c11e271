"""hw.accumulate: forward and backward pass in micro-batches; where a model has stages, they work at the same time."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import headwater as hw
from headwater import nn, recording

from .deferred import deferred_sums
from .placing import placed
from .schedule import Task, one_forward_one_backward
from .stages import Pipeline, Stage, listed, moved, whole_sbp
from .world import tell_others


def _sizes(count: int, parts: int) -> list[int]:
    """The rows of each micro-batch: as even as can be, the larger ones first."""
    return [count // parts + (i < count % parts) for i in range(parts)]


def _tensors(value: Any) -> list[hw.Tensor]:
    if isinstance(value, (tuple, list)):
        return [t for v in value for t in _tensors(v)]
    return [value] if isinstance(value, hw.Tensor) and value.ndim else []


def _rows(value: Any, begin: int, end: int) -> Any:
    if isinstance(value, (tuple, list)):
        return type(value)(_rows(v, begin, end) for v in value)
    return value[begin:end] if isinstance(value, hw.Tensor) and value.ndim else value


class _Micro(NamedTuple):
    inputs: tuple[Any, ...]
    targets: tuple[Any, ...]
    weight: float  # of its loss in that of the batch


def _micro_batches(inputs: tuple[Any, ...], targets: tuple[Any, ...], parts: int, reduction: str) -> list[_Micro]:
    rows = {t.shape[0] for t in _tensors([inputs, targets])}
    if len(rows) != 1:
        raise ValueError(f"accumulate: inputs and targets have one number of rows, got {sorted(rows) or 'no tensors'}")
    count = rows.pop()
    if not 1 <= parts <= count:
        raise ValueError(f"accumulate: {count} rows cannot be cut into {parts} micro-batches of one row or more")
    if reduction not in ("mean", "sum"):
        raise ValueError(f"accumulate: reduction is that of the loss, 'mean' or 'sum', got {reduction!r}")
    found, begin = [], 0
    for size in _sizes(count, parts):
        cut = _rows(inputs, begin, begin + size), _rows(targets, begin, begin + size)
        found.append(_Micro(*cut, size / count if reduction == "mean" else 1.0))
        begin += size
    return found


def _checked(loss: Any) -> hw.Tensor:
    if not isinstance(loss, hw.Tensor) or loss.ndim:
        what = f"one of shape {tuple(loss.shape)}" if isinstance(loss, hw.Tensor) else repr(loss)
        raise TypeError(f"accumulate: loss_of returns a tensor without axes, got {what}")
    return loss


def accumulate(model: nn.Module, loss_of: Callable[..., hw.Tensor], inputs: Any, targets: Any = (), *, micro_batches: int = 1,
               reduction: str = "mean", scaler: Any = None, ahead: int = 0) -> hw.Tensor:  # fmt: skip
    """Forward and backward pass of a batch in micro-batches: gradients add up in the parameters; returns the loss, without history.

    The same as `loss_of(model(*inputs), *targets).backward()` on the whole batch, with less memory. Where hw.parallelize has cut the
    model into stages they work at the same time, each on another micro-batch, in the order "one forward, one backward": stage s of
    n keeps at most n - s micro-batches. What is drawn (dropout) does not depend on the mesh, but on the micro-batches.

    Args:
        loss_of: from the model's result and the targets to a tensor without axes. It and the stages may not read values (item()),
            since they run on those processes alone that host them: RuntimeError, on every mesh with more than one stage.
        inputs, targets: a tensor or a tuple, cut along the first axis; every process gives the whole. Rows that micro_batches does
            not divide make the first ones larger by one.
        reduction: how loss_of joins rows: by "mean" (a micro-batch counts by its rows) or "sum". A mean that leaves rows out, as
            cross_entropy with ignored targets, must be a "sum" over a number of the whole batch.
        scaler: a GradScaler, whose scale the losses get.
        ahead: forward passes that a stage may be ahead of that order for each stage behind it. 1 hides messages, and that passes are not
            equally long, where micro-batches take a few milliseconds; stage s of n then keeps up to 2 (n - s) - 1 of them.

    >>> model = hw.nn.Linear(4, 1)
    >>> hw.accumulate(model, hw.nn.functional.mse_loss, hw.ones(6, 4), hw.ones(6, 1), micro_batches=3).shape
    headwater.Size([])
    """
    if ahead < 0:
        raise ValueError(f"accumulate: ahead must be at least 0, got {ahead}")
    inputs, targets = listed(inputs), listed(targets)
    micros = _micro_batches(inputs, targets, micro_batches, reduction)
    scaled = (lambda loss: loss) if scaler is None else scaler.scale
    pipeline: Pipeline | None = model.__dict__.get("_pipeline")
    with deferred_sums(model):
        if pipeline is not None:
            if recording.current is not None:
                raise RuntimeError(
                    "hw.accumulate: a model with stages works inside hw.compile as a plain call, model(x), but not in micro-batches, which "
                    "processes take in turns. Call hw.accumulate outside of the compiled function"
                )
            return _Run(pipeline, loss_of, micros, scaled, ahead).run(tuple(m.training for m in model.modules()))
        place = model.__dict__.get("_batch_place")
        total: hw.Tensor | None = None
        for micro in micros:
            loss = _checked(loss_of(model(*micro.inputs), *(placed(micro.targets, *place) if place else micro.targets))) * micro.weight
            scaled(loss).backward()
            total = loss.detach() if total is None else total + loss.detach()
        assert total is not None
        return total


class _Spec(NamedTuple):
    """What a process knows of a tensor that others hold."""

    shape: tuple[int, ...]
    dtype: Any
    sbp: list[Any]
    differentiable: bool

    def stand_in(self, mesh: Any) -> hw.Tensor:
        return _nothing(self.shape, self.dtype, mesh, self.sbp)


def _spec_of(t: hw.Tensor) -> _Spec:
    return _Spec(tuple(t.shape), t.dtype, whole_sbp(t) if t.is_global else [], t.requires_grad)


def _nothing(shape: Any, dtype: Any, mesh: Any, sbp: Any) -> hw.Tensor:
    """A global tensor on ranks that this process does not host: no part of it exists here."""
    return hw.zeros((), dtype=dtype).expand(tuple(shape)).to_global(mesh, sbp)


class _Facts(NamedTuple):
    """What one stage does with a micro-batch of one kind."""

    outputs: tuple[Any, ...]  # a _Spec for each tensor, other values as they are
    draws: int  # of random numbers
    trained: frozenset[int]  # ids of the parameters that get gradients, also of those it borrows


def _key(value: Any) -> Any:
    if isinstance(value, hw.Tensor):
        return tuple(value.shape), value.dtype.name, tuple(map(str, value.sbp)) if value.is_global else None
    return tuple(map(_key, value)) if isinstance(value, (tuple, list)) else value


def _differentiable(t: Any) -> bool:
    return isinstance(t, hw.Tensor) and t.requires_grad


class _Run:
    """One batch through the stages. A process runs the stages of which it hosts ranks; of others it knows what they hand on."""

    def __init__(self, pipeline: Pipeline, loss_of: Callable[..., hw.Tensor], micros: list[_Micro], scaled: Callable[[Any], Any],
                 ahead: int):  # fmt: skip
        self.pipeline, self.stages, self.loss_of, self.micros, self.scaled = pipeline, pipeline.stages, loss_of, micros, scaled
        self.last, self.ahead = len(self.stages) - 1, ahead
        self.kept: dict[tuple[int, int], tuple[tuple[Any, ...], tuple[Any, ...]]] = {}  # stage, micro-batch: inputs, outputs
        self.gradients: dict[tuple[int, int], list[Any]] = {}  # of the inputs of a stage
        self.borrowed: list[list[hw.Tensor]] = [[] for _ in self.stages]
        self.losses: list[hw.Tensor] = []
        self.generator = hw.default_generator
        self.eager = hw._C.use_channel(-1)  # whether what is sent need not be waited for

    def run(self, training: tuple[bool, ...]) -> hw.Tensor:
        seed, first = self.generator.get_state()
        settings = (training, hw._C.get_autocast())
        self.keys = [(_key([m.inputs, m.targets]), settings) for m in self.micros]
        self.first = first
        try:
            self._borrow()
            for task in one_forward_one_backward(len(self.stages), len(self.micros), self.ahead):
                (self._backward if task.backward else self._forward)(task)
            self._give_back()
            hw._C.finish_sends()
        except BaseException as error:
            tell_others(error)  # who would else wait for what this process does not send
            self.generator.set_state((seed, first))
            raise
        finally:
            hw._C.use_channel(-1)
        self.generator.set_state((seed, first + len(self.micros) * sum(f.draws for f in self._facts(0))))
        return self._loss()

    # ------------------------------------------------------------------ one task
    def _forward(self, task: Task) -> None:
        stage = self.stages[task.stage]
        facts = self._facts(task.micro)
        if stage.here:
            values = self._received(stage, task.micro)
            starts = tuple(v.detach().requires_grad_(d) if isinstance(v, hw.Tensor) else v
                           for v, d in zip(values, self._wanted(stage, task.micro, values), strict=True))  # fmt: skip
            outputs = self._computed(stage, task.micro, starts)
            self.kept[task.stage, task.micro] = starts, outputs
            if self.eager and task.stage < self.last and not self.stages[task.stage + 1].here:
                self._move_on(self.stages[task.stage + 1], task.micro)
            return
        if len(facts) == task.stage:
            self._imagine(stage, task.micro)
        if task.stage and self.stages[task.stage - 1].here and not self.eager:
            self._move_on(stage, task.micro)

    def _backward(self, task: Task) -> None:
        stage = self.stages[task.stage]
        if not stage.here:
            if task.stage < self.last and self.stages[task.stage + 1].here and not self.eager:
                self._move_back(stage, task.micro)
            return
        gradients = None if task.stage == self.last else self._move_back(stage, task.micro)
        starts, outputs = self.kept.pop((task.stage, task.micro))
        with self._apart(stage, task.micro, "backward"):
            if gradients is None:
                self.scaled(outputs[0]).backward()
                self.losses.append(outputs[0].detach())
            elif roots := [y for y in outputs if _differentiable(y)]:
                hw.autograd.backward(roots, gradients)
        if task.stage:
            self.gradients[task.stage, task.micro] = [
                hw.zeros_like(x) if x.grad is None else x.grad for x in starts if _differentiable(x)]  # fmt: skip
            if self.eager and not self.stages[task.stage - 1].here:
                self._move_back(self.stages[task.stage - 1], task.micro)

    @contextmanager
    def _apart(self, stage: Stage, micro: int, direction: str) -> Iterator[None]:
        """Errors say where they come from, and what the processes of other stages would have to take part in is one."""
        name = f"stage {stage.index} of {len(self.stages)}"
        before = hw._C.set_apart(name if self.last else "")
        try:
            yield
        except Exception as error:
            if hasattr(error, "add_note"):  # Python 3.11
                error.add_note(f"in the {direction} pass of {name}, micro-batch {micro}")
            raise
        finally:
            hw._C.set_apart(before)

    def _computed(self, stage: Stage, micro: int, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """The results of a stage; those of the last are the loss. Its random numbers are those it would draw if it ran alone."""
        facts = self._facts(micro)
        each = self._facts(0)
        before = sum(f.draws for f in each[: stage.index])
        state = (self.generator.get_state()[0], self.first + (micro * sum(f.draws for f in each) if micro else 0) + before)
        self.generator.set_state(state)
        with hw.enable_grad(), self._apart(stage, micro, "forward"):
            result = stage.run(self.borrowed[stage.index], values)
            if stage.index == self.last:
                targets = placed(self.micros[micro].targets, stage.mesh, self.pipeline.input_sbp)
                result = _checked(self.loss_of(result, *targets)) * self.micros[micro].weight
        outputs = listed(result)
        draws = self.generator.get_state()[1] - state[1]
        if len(facts) == stage.index:
            facts.append(self._learned(stage, outputs, draws))
        if draws != each[stage.index].draws:
            raise RuntimeError(f"accumulate: stage {stage.index} drew {draws} random numbers for micro-batch {micro} and "
                               f"{each[stage.index].draws} for the first; those of the others would depend on the mesh")
        return outputs

    # ------------------------------------------------------------------ what a process knows of stages
    def _facts(self, micro: int) -> list[_Facts]:
        return self.pipeline.facts.setdefault(self.keys[micro], [])  # type: ignore[no-any-return]

    def _learned(self, stage: Stage, outputs: tuple[Any, ...], draws: int) -> _Facts:
        roots = [y for y in outputs if _differentiable(y)]
        leaves = hw._C.tape_leaves(roots, 0)
        lent = {id(t): id(p) for t, (p, _) in zip(self.borrowed[stage.index], stage.lenders, strict=True)}
        specs = tuple(_spec_of(y) if isinstance(y, hw.Tensor) else y for y in outputs)
        return _Facts(specs, draws, frozenset(lent.get(id(t), id(t)) for t in leaves))

    def _imagine(self, stage: Stage, micro: int) -> None:
        """Runs a stage of other processes without data, once for each kind of micro-batch, to know what it hands on."""
        values = self._stand_ins(stage, micro) if stage.index else placed(self.micros[micro].inputs, stage.mesh, self.pipeline.input_sbp)
        self._computed(stage, micro, tuple(moved(v, stage.mesh) if isinstance(v, hw.Tensor) and v.is_global else v for v in values))

    def _stand_ins(self, stage: Stage, micro: int) -> tuple[Any, ...]:
        """The inputs of a stage as if they had come already; for processes that do not host it."""
        return tuple(v.stand_in(stage.mesh).requires_grad_(v.differentiable) if isinstance(v, _Spec) else v
                     for v in self._facts(micro)[stage.index - 1].outputs)  # fmt: skip

    def _wanted(self, stage: Stage, micro: int, values: tuple[Any, ...]) -> list[bool]:
        """Which inputs of a stage need gradients."""
        if stage.index == 0:
            return [False] * len(values)
        return [isinstance(v, _Spec) and v.differentiable for v in self._facts(micro)[stage.index - 1].outputs]

    # ------------------------------------------------------------------ between stages
    def _received(self, stage: Stage, micro: int) -> tuple[Any, ...]:
        if stage.index:
            return self._move_on(stage, micro)
        values = placed(self.micros[micro].inputs, stage.mesh, self.pipeline.input_sbp)
        return tuple(moved(v, stage.mesh) if isinstance(v, hw.Tensor) and v.ndim else v for v in values)

    def _move_on(self, to: Stage, micro: int) -> tuple[Any, ...]:
        """The results of the stage before, where `to` wants them: sends, receives, or both, as this process hosts them."""
        source = self.stages[to.index - 1]
        if source.here:
            values = tuple(v.detach() if isinstance(v, hw.Tensor) else v for v in self.kept[source.index, micro][1])
        else:
            values = tuple(v.stand_in(source.mesh) if isinstance(v, _Spec) else v for v in self._facts(micro)[source.index].outputs)
        return tuple(self._over(2 * source.index, v, to.mesh) for v in values)

    def _move_back(self, to: Stage, micro: int) -> list[hw.Tensor]:
        """The gradients of the results of `to`, where it wants them."""
        source = self.stages[to.index + 1]
        if source.here:
            gradients = self.gradients.pop((source.index, micro))
        else:
            specs = self._facts(micro)[to.index].outputs
            gradients = [v.stand_in(source.mesh) for v in specs if isinstance(v, _Spec) and v.differentiable]
        return [self._over(2 * to.index + 1, g, to.mesh) for g in gradients]

    def _over(self, channel: int, value: Any, mesh: Any) -> Any:
        """The value on another stage's mesh, by messages that do not meet those of other pairs of stages."""
        hw._C.use_channel(channel)
        try:
            return moved(value, mesh)
        finally:
            hw._C.use_channel(-1)

    # ------------------------------------------------------------------ tied parameters, the end
    def _borrow(self) -> None:
        """Copies of the parameters that lie on other stages, as leaves of their own."""
        for stage in self.stages:
            for p, _ in stage.lenders:
                copy = self._over(2 * self.last, p.detach(), stage.mesh)
                self.borrowed[stage.index].append(copy.requires_grad_(p.requires_grad))

    def _give_back(self) -> None:
        """Gradients of copies go to their owners; where others hold a parameter, there is a gradient too, without data."""
        every = [self._facts(i) for i in range(len(self.micros))]
        trained = [{i for facts in every for i in facts[stage.index].trained} for stage in self.stages]
        for stage in self.stages:
            for copy, (p, home) in zip(self.borrowed[stage.index], stage.lenders, strict=True):
                if id(p) not in trained[stage.index]:
                    continue
                g = copy.grad if stage.here else _nothing(p.shape, p.dtype, stage.mesh, whole_sbp(copy))
                _add_gradient(p, self._over(2 * self.last, g, home.mesh))
            if not stage.here:
                for p in self._parameters(stage):
                    if id(p) in trained[stage.index] and p.grad is None:
                        _add_gradient(p, _nothing(p.shape, p.dtype, p.mesh, whole_sbp(p)))

    def _parameters(self, stage: Stage) -> list[nn.Parameter]:
        borrowed = {id(p) for p, _ in stage.lenders}
        found = {id(p): p for layer in stage.layers for m in layer.modules for p in m.parameters() if id(p) not in borrowed}
        return list(found.values())

    def _loss(self) -> hw.Tensor:
        mesh = self.stages[-1].mesh
        whole = [hw.broadcast] * mesh.ndim
        if not self.stages[-1].here:
            spec = self._facts(0)[-1].outputs[0]
            return _nothing((), spec.dtype, mesh, whole)
        return sum(self.losses[1:], self.losses[0]).to_global(mesh, whole)


def _add_gradient(p: nn.Parameter, gradient: hw.Tensor) -> None:
    """As a backward pass would."""
    with hw.no_grad():
        place = getattr(p, "_gradient_sbp", None) or p.sbp
        gradient = gradient.to_global(p.mesh, place)
        p.grad = gradient if p.grad is None else p.grad + gradient
