"""The base of all optimisers: parameter groups, state, hooks, and saving."""

from __future__ import annotations

import copy
import functools
import itertools
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import headwater as hw

from .. import recording
from ..autograd import rows as by_rows
from ..profiler import record_function

Params = Iterable[Any]  # tensors, (name, tensor) pairs, or dicts with "params" and options
Closure = Callable[[], Any]


def state_like(param: hw.Tensor) -> hw.Tensor:
    """Zeros of the shape of a parameter, lying where it lies, or where hw.parallelize wants the state of it."""
    zeros = hw.zeros_like(param)
    sbp = getattr(param, "_state_sbp", None)
    return zeros if sbp is None else zeros.to_global(param.mesh, sbp)


class HookHandle:
    """Takes a hook away again: `handle.remove()`, or use it as a context manager."""

    _ids = itertools.count()

    def __init__(self, hooks: OrderedDict[int, Callable[..., Any]], hook: Callable[..., Any], first: bool = False):
        self._hooks, self.id = hooks, next(HookHandle._ids)
        hooks[self.id] = hook
        if first:
            hooks.move_to_end(self.id, last=False)

    def remove(self) -> None:
        self._hooks.pop(self.id, None)

    def __enter__(self) -> HookHandle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


_global_pre: OrderedDict[int, Callable[..., Any]] = OrderedDict()
_global_post: OrderedDict[int, Callable[..., Any]] = OrderedDict()


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> HookHandle:
    """Calls `hook(optimizer, args, kwargs)` before the step of every optimiser."""
    return HookHandle(_global_pre, hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> HookHandle:
    """Calls `hook(optimizer, args, kwargs)` after the step of every optimiser."""
    return HookHandle(_global_post, hook)


def _nothing(by: int) -> None:
    """Nothing to count."""


def _with_hooks(step: Callable[..., Any]) -> Callable[..., Any]:
    """The step of a subclass, between its hooks. Counts the steps, by which schedulers notice a wrong order."""

    @functools.wraps(step)
    def run(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        if _global_pre or self._step_pre_hooks:
            for hook in (*_global_pre.values(), *self._step_pre_hooks.values()):
                changed = hook(self, args, kwargs)
                if changed is not None:
                    if not isinstance(changed, tuple) or len(changed) != 2:
                        raise RuntimeError(f"a step pre-hook returns None or (args, kwargs), got {changed!r}")
                    args, kwargs = changed
        result = step(self, *args, **kwargs)
        if by_rows.in_use and recording.current is None:
            self._step_rows()
        if recording.current is None:
            self._steps_taken += 1
        else:
            recording.current.effect(self._count_step)
        if _global_post or self._step_post_hooks:
            for hook in (*self._step_post_hooks.values(), *_global_post.values()):
                hook(self, args, kwargs)
        return result

    run.hooked = True  # type: ignore[attr-defined]
    return run


class Optimizer:
    """Updates parameters from their gradients.

    `params` are tensors, (name, tensor) pairs, or dicts: groups with options of their own. `defaults` are the options
    of a group that does not give them. Subclasses define `step`.
    """

    param_groups: list[dict[str, Any]]
    state: defaultdict[Any, dict[str, Any]]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__ and not hasattr(cls.step, "hooked"):
            cls.step = _with_hooks(cls.step)  # type: ignore[method-assign]

    def __init__(self, params: Params, defaults: dict[str, Any]) -> None:
        self._make_hooks()
        self.defaults = defaults
        self.state = defaultdict(dict)
        self.param_groups = []
        if isinstance(params, hw.Tensor):
            raise TypeError("params must be an iterable of tensors or dicts, got a single tensor. Write [param].")
        _refuse_set(params)
        groups: list[Any] = list(params)
        if not groups:
            raise ValueError("the optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def _make_hooks(self) -> None:
        self._steps_taken = 0
        self._structure = 0  # counts what a compiled step must be compiled again for
        for name in ("step_pre", "step_post", "state_dict_pre", "state_dict_post", "load_pre", "load_post"):
            setattr(self, f"_{name}_hooks", OrderedDict())

    _step_pre_hooks: OrderedDict[int, Callable[..., Any]]
    _step_post_hooks: OrderedDict[int, Callable[..., Any]]
    _state_dict_pre_hooks: OrderedDict[int, Callable[..., Any]]
    _state_dict_post_hooks: OrderedDict[int, Callable[..., Any]]
    _load_pre_hooks: OrderedDict[int, Callable[..., Any]]
    _load_post_hooks: OrderedDict[int, Callable[..., Any]]

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._make_hooks()
        self.__dict__.update(state)
        for group in self.param_groups:
            for key, value in self.defaults.items():
                group.setdefault(key, value)

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for index, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {index}")
            lines += [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
        return "\n".join([*lines, ")"])

    # ------------------------------------------------------------------ parameters
    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Adds a group: a dict with "params" and any options that differ from the defaults."""
        if not isinstance(param_group, dict):
            raise TypeError(f"a param group must be a dict, got {type(param_group).__name__}")
        params = param_group["params"]
        if isinstance(params, hw.Tensor):
            params = [params]
        _refuse_set(params)
        params = list(params)
        if params and isinstance(params[0], tuple):
            param_group["param_names"] = [name for name, _ in params]
            params = [param for _, param in params]
        known = {id(p) for group in self.param_groups for p in group["params"]}
        for param in params:
            self._check_param(param, known)
            known.add(id(param))
        param_group["params"] = params
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"a param group does not give the required option '{name}'")
            param_group.setdefault(name, copy.copy(default))
        self.param_groups.append(param_group)
        self._structure += 1

    @staticmethod
    def _check_param(param: Any, known: set[int]) -> None:
        if not isinstance(param, hw.Tensor):
            raise TypeError(f"an optimizer takes tensors, got {type(param).__name__}")
        if id(param) in known:
            raise ValueError("a parameter appears more than once in the optimizer's groups")
        if not param.is_leaf:
            raise ValueError("can't optimize a non-leaf tensor: give the tensor that it was computed from")
        if not param.dtype.is_floating_point:
            raise TypeError(f"an optimizer takes floating-point parameters, got {param.dtype}")

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drops the gradients (None), or fills them with zeros."""
        for group in self.param_groups:
            for param in group["params"]:
                if by_rows.in_use and param.sparse_grad is not None:
                    param._row_gradient = None
                if set_to_none:
                    param.grad = None
                elif param.grad is not None:
                    with hw.no_grad():
                        param.grad.detach().zero_()

    def step(self, closure: Closure | None = None) -> Any:
        """Makes one step. `closure` recomputes the loss, runs backward and returns the loss, which step returns."""
        raise NotImplementedError(f"{type(self).__name__} does not define step()")

    def _count_step(self) -> None:
        self._steps_taken += 1

    @staticmethod
    def _apply(
        op: str,
        lists: tuple[Any, ...],
        options: Callable[[], tuple[Any, ...]],
        count: Callable[[int], None] = _nothing,
    ) -> None:
        """Runs a step op over lists of tensors. A compiled step asks `options` for the attributes of each of its runs, and
        calls `count(1)`, which counts the step as the caller has done it for this one."""
        if recording.current is None:
            if hw._C.trace_on():
                with record_function(f"Optimizer.step ({op})"):
                    hw._C.optimizer_step(op, *lists, *options())
            else:
                hw._C.optimizer_step(op, *lists, *options())
        else:
            recording.current.step(op, lists, options, count)

    # ------------------------------------------------------------------ rows of tables
    def _step_rows(self) -> None:
        """Steps the rows of tables that have gradients by rows (sparse_grad)."""
        for group in self.param_groups:
            for param in group["params"]:
                gradient = param.sparse_grad
                if gradient is None:
                    continue
                if param.grad is not None:
                    raise RuntimeError("a table has a gradient by rows and a dense one: use it with sparse=True everywhere, or nowhere")
                self._step_rows_of(param, gradient, group)

    def _step_rows_of(self, param: Any, gradient: by_rows.RowGradient, group: dict[str, Any]) -> None:
        """What an optimiser for such gradients defines, by `_run_rows`."""
        raise NotImplementedError(
            f"{type(self).__name__} would have to step all rows of a table whose gradient is by rows (sparse=True, or PartialFC). "
            "SGD, Adagrad and SparseAdam step used rows only."
        )

    @staticmethod
    def _only_lazy(gradient: by_rows.RowGradient, **options: Any) -> None:
        """Refuses what would change rows without gradient too, unless these are to be left alone."""
        for name, value in options.items():
            if value and not gradient.lazy:
                raise NotImplementedError(f"{name}={value} changes every row of a table, not only those looked up: use sparse=False")

    @staticmethod
    def _run_rows(op: str, param: Any, gradient: by_rows.RowGradient, states: list[Any], options: tuple[Any, ...]) -> None:
        """A step op on the rows that have gradients; `states` lie as the parameter does. Each rank steps its own."""
        with hw.no_grad():
            tables = [[part for part, _, _ in by_rows.parts_of(t)] for t in (param, *states)]
            for r, (index, values) in enumerate(gradient.parts):
                if index.shape[0] == 0:
                    continue
                rows = [table[r].index_select(0, index) for table in tables]
                hw._C.optimizer_step(op, rows[:1], [values], *([s] for s in rows[1:]), *options)
                for table, row in zip(tables, rows, strict=True):
                    table[r].index_copy_(0, index, row)

    @staticmethod
    def _loss_of(closure: Closure | None) -> Any:
        if closure is None:
            return None
        with hw.enable_grad():
            return closure()

    def _with_gradients(self, group: dict[str, Any]) -> Iterator[tuple[Any, Any, dict[str, Any]]]:
        """(parameter, gradient, state) of a group, without the parameters that have no gradient."""
        state = self.state
        for param in group["params"]:
            grad = param.grad
            if grad is not None:
                own = state[param]
                if recording.current is not None:
                    recording.current.holds(state, param, own)
                yield param, grad, own

    # ------------------------------------------------------------------ hooks
    def register_step_pre_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """`hook(optimizer, args, kwargs)` runs before each step; it may return new (args, kwargs)."""
        return HookHandle(self._step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """`hook(optimizer, args, kwargs)` runs after each step."""
        return HookHandle(self._step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> HookHandle:
        """`hook(optimizer)` runs before state_dict()."""
        return HookHandle(self._state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> HookHandle:
        """`hook(optimizer, state_dict)` runs after state_dict(); what it returns, if anything, is used instead."""
        return HookHandle(self._state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> HookHandle:
        """`hook(optimizer, state_dict)` runs before load_state_dict; what it returns, if anything, is loaded."""
        return HookHandle(self._load_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> HookHandle:
        """`hook(optimizer)` runs after load_state_dict."""
        return HookHandle(self._load_post_hooks, hook, prepend)

    # ------------------------------------------------------------------ saving
    def state_dict(self) -> dict[str, Any]:
        """{"state", "param_groups"}: parameters are numbered in the order of the groups. Tensors are not copied."""
        for hook in self._state_dict_pre_hooks.values():
            hook(self)
        index: dict[int, int] = {}
        groups = []
        for group in self.param_groups:
            for param in group["params"]:
                index.setdefault(id(param), len(index))
            packed = {key: value for key, value in group.items() if key != "params"}
            groups.append({**packed, "params": [index[id(param)] for param in group["params"]]})
        state = {index.get(id(key), key) if isinstance(key, hw.Tensor) else key: v for key, v in self.state.items()}
        result: dict[str, Any] = {"state": state, "param_groups": groups}
        for hook in self._state_dict_post_hooks.values():
            changed = hook(self, result)
            result = result if changed is None else changed
        return result

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over what state_dict() gave; state tensors are copied and take the dtype of their parameter."""
        state_dict = dict(state_dict)
        for hook in self._load_pre_hooks.values():
            changed = hook(self, state_dict)
            state_dict = state_dict if changed is None else changed
        saved = state_dict["param_groups"]
        _check_groups(self.param_groups, saved)
        by_index = {
            int(i): param
            for group, mine in zip(saved, self.param_groups)
            for i, param in zip(group["params"], mine["params"])
        }
        state: defaultdict[Any, dict[str, Any]] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            is_index = isinstance(key, int) or (isinstance(key, str) and key.isdecimal())
            param = by_index.get(int(key)) if is_index else None
            if param is None:
                state[key] = value
            else:
                state[param] = {name: _state_value(name, v, param) for name, v in value.items()}
        for group, mine in zip(saved, self.param_groups):
            options = {key: copy.deepcopy(value) for key, value in group.items() if key != "params"}
            if "betas" in options:
                options["betas"] = tuple(options["betas"])
            mine.update({key: value for key, value in options.items() if key != "param_names" or key in mine})
        self.state = state
        self._structure += 1
        for hook in self._load_post_hooks.values():
            hook(self)


required = object()  # as a default: the option must be given


def _refuse_set(params: Any) -> None:
    if isinstance(params, (set, frozenset)):
        raise TypeError("parameters need an order that does not change from run to run; a set has none, use a list")


def _check_groups(mine: list[dict[str, Any]], saved: list[dict[str, Any]]) -> None:
    if len(mine) != len(saved):
        raise ValueError(f"the state dict has {len(saved)} param groups, the optimizer has {len(mine)}")
    for number, (a, b) in enumerate(zip(mine, saved)):
        if len(a["params"]) != len(b["params"]):
            raise ValueError(
                f"param group {number} of the state dict has {len(b['params'])} parameters, "
                f"that of the optimizer has {len(a['params'])}"
            )


def _state_value(name: str, value: Any, param: Any) -> Any:
    """A saved state for `param`: a copy, in the parameter's dtype where it is of floating type. Steps are numbers."""
    if name == "step":
        return int(value.item()) if isinstance(value, hw.Tensor) else int(value)
    if not isinstance(value, hw.Tensor):
        return copy.deepcopy(value)
    value = value.detach()
    if isinstance(param, hw.Tensor) and value.shape == param.shape:
        sbp = getattr(param, "_state_sbp", None)
        value = value.to_global(param.mesh, sbp or param.sbp) if param.is_global else value.full()
    if value.dtype.is_floating_point and value.dtype != param.dtype:
        return value.to(param.dtype)
    return value.clone()
