"""L-BFGS: steps along an approximation of Newton's direction, built from the last gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import headwater as hw

from .. import recording
from . import options
from .optimizer import Closure, Optimizer, Params

# A point of the line search: distance, loss, slope along the line, gradient.
_Point = tuple[float, float, float, Any]


class LBFGS(Optimizer):
    """Limited-memory BFGS (Nocedal and Wright, Numerical Optimization, chapter 7). One group of parameters; a step needs a closure.

    `step(closure)` makes up to `max_iter` iterations; `closure` clears the gradients, computes the loss, calls backward() and returns
    the loss. `line_search_fn`: None takes steps of `lr`, "strong_wolfe" searches for a step that meets the strong Wolfe conditions.
    """

    def __init__(self, params: Params, lr: float = 1, max_iter: int = 20, max_eval: int | None = None, tolerance_grad: float = 1e-7,
                 tolerance_change: float = 1e-9, history_size: int = 100, line_search_fn: str | None = None, *,
                 maximize: bool = False) -> None:
        options.at_least_zero(lr=lr, tolerance_grad=tolerance_grad, tolerance_change=tolerance_change)
        if line_search_fn not in (None, "strong_wolfe"):
            raise ValueError(f"line_search_fn must be None or 'strong_wolfe', got {line_search_fn!r}")
        super().__init__(params, {
            "lr": lr, "max_iter": max_iter, "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad, "tolerance_change": tolerance_change, "history_size": history_size,
            "line_search_fn": line_search_fn, "maximize": maximize,
        })  # fmt: skip
        if len(self.param_groups) != 1:
            raise ValueError(f"LBFGS takes one group of parameters, got {len(self.param_groups)}")

    # ------------------------------------------------------------------ the parameters as one vector
    def _gradient(self) -> Any:
        parts = [hw.zeros_like(p) if p.grad is None else p.grad.detach() for p in self.param_groups[0]["params"]]
        flat = hw.cat([part.reshape(-1) for part in parts])
        return -flat if self.param_groups[0]["maximize"] else flat

    def _move(self, direction: Any, by: float) -> None:
        at = 0
        for p in self.param_groups[0]["params"]:
            p.add_(direction[at : at + p.numel()].view(p.shape), alpha=by)
            at += p.numel()

    def _evaluate(self, closure: Closure) -> tuple[float, Any]:
        with hw.enable_grad():
            loss = float(closure())
        return (-loss if self.param_groups[0]["maximize"] else loss), self._gradient()

    def step(self, closure: Closure | None = None) -> Any:
        """Makes up to max_iter iterations and returns the loss of the first evaluation."""
        if closure is None:
            raise TypeError("LBFGS.step() needs a closure that computes the loss and its gradients: step(closure)")
        if recording.current is not None:
            raise NotImplementedError("LBFGS.step() cannot be compiled; call it outside of the compiled function")
        with hw.enable_grad():
            first = closure()
        with hw.no_grad():
            group, state = self.param_groups[0], self.state[self.param_groups[0]["params"][0]]
            loss, gradient = float(first) * (-1 if group["maximize"] else 1), self._gradient()
            if not state:
                state.update(func_evals=0, n_iter=0)
            state["func_evals"] += 1
            if gradient.numel() and gradient.abs().max().item() > group["tolerance_grad"]:
                self._iterate(closure, loss, gradient, group, state)
        return first

    def _iterate(self, closure: Closure, loss: float, gradient: Any, group: dict[str, Any], state: dict[str, Any]) -> None:
        evaluations, least = 1, group["tolerance_change"]
        for turn in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            direction = self._direction(gradient, group, state)
            state["prev_flat_grad"], state["prev_loss"] = gradient, loss
            length = group["lr"] * (min(1.0, 1 / gradient.abs().sum().item()) if state["n_iter"] == 1 else 1)
            slope = gradient.dot(direction).item()
            state["d"], state["t"] = direction, length
            if slope > -least:
                return
            before, used = loss, 1
            if group["line_search_fn"]:
                length, loss, gradient, used = self._search(closure, direction, (0.0, loss, slope, gradient), length, least)
                self._move(direction, length)
            else:
                self._move(direction, length)
                if turn == group["max_iter"]:
                    used = 0
                else:
                    loss, gradient = self._evaluate(closure)
            state["t"] = length
            evaluations += used
            state["func_evals"] += used
            flat = gradient.abs().max().item() <= group["tolerance_grad"]
            still = (direction * length).abs().max().item() <= least or abs(loss - before) < least
            if evaluations >= group["max_eval"] or flat or still:
                return

    @staticmethod
    def _direction(gradient: Any, group: dict[str, Any], state: dict[str, Any]) -> Any:
        """Minus the inverse Hessian times the gradient, by the two loops over the last steps."""
        if state["n_iter"] == 1:
            state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1.0)
            return -gradient
        changes, steps, inverse = state["old_dirs"], state["old_stps"], state["ro"]
        change, step = gradient - state["prev_flat_grad"], state["d"] * state["t"]
        agreement = change.dot(step).item()
        if agreement > 1e-10:
            if len(changes) == group["history_size"]:
                for kept in (changes, steps, inverse):
                    kept.pop(0)
            changes.append(change)
            steps.append(step)
            inverse.append(1 / agreement)
            state["H_diag"] = agreement / change.dot(change).item()
        q, weights = -gradient, [0.0] * len(changes)
        for i in reversed(range(len(changes))):
            weights[i] = steps[i].dot(q).item() * inverse[i]
            q = q - changes[i] * weights[i]
        q = q * state["H_diag"]
        for i in range(len(changes)):
            q = q + steps[i] * (weights[i] - changes[i].dot(q).item() * inverse[i])
        return q

    def _search(self, closure: Closure, direction: Any, start: _Point, length: float, least: float) -> tuple[float, float, Any, int]:
        """A step length by the strong Wolfe conditions; the parameters stay where they are."""
        saved = [p.clone() for p in self.param_groups[0]["params"]]

        def at(t: float) -> _Point:
            self._move(direction, t)
            loss, gradient = self._evaluate(closure)
            for p, before in zip(self.param_groups[0]["params"], saved, strict=True):
                p.copy_(before)
            return t, loss, gradient.dot(direction).item(), gradient

        found, used = _strong_wolfe(at, start, length, direction.abs().max().item(), least)
        return found[0], found[1], found[3], used


def _strong_wolfe(at: Callable[[float], _Point], start: _Point, length: float, reach: float, least: float) -> tuple[_Point, int]:
    """Nocedal and Wright, algorithms 3.5 (bracketing) and 3.6 (zoom), with cubic interpolation and at most 25 more points."""
    slope, before = start[2], start
    now, used = at(length), 1

    def too_high(p: _Point) -> bool:
        return p[1] > start[1] + 1e-4 * p[0] * slope or p[1] != p[1]

    def flat(p: _Point) -> bool:
        return abs(p[2]) <= -0.9 * slope

    bracket: list[_Point] = []
    turns = 0
    while turns < 25:
        if too_high(now) or (turns > 1 and now[1] >= before[1]):
            bracket = [before, now]
            break
        if flat(now):
            return now, used
        if now[2] >= 0:
            bracket = [before, now]
            break
        t = now[0]
        following = _cubic(before, now, (t + 0.01 * (t - before[0]), t * 10))
        before, now = now, at(following)
        used += 1
        turns += 1
    else:
        bracket = [start, now]

    bracket.sort(key=lambda p: p[1])  # the lower one first
    stuck = False
    while turns < 25:
        low, high = bracket
        if abs(high[0] - low[0]) * reach < least:
            break
        t = _cubic(low, high)
        left, right = min(low[0], high[0]), max(low[0], high[0])
        margin = 0.1 * (right - left)
        if min(right - t, t - left) < margin:  # too near to an end twice: a tenth away from it
            if stuck or t >= right or t <= left:
                t = right - margin if abs(t - right) < abs(t - left) else left + margin
                stuck = False
            else:
                stuck = True
        else:
            stuck = False
        now = at(t)
        used += 1
        turns += 1
        if too_high(now) or now[1] >= low[1]:
            bracket = sorted([low, now], key=lambda p: p[1])
        elif flat(now):
            return now, used
        else:
            bracket = [now, low if now[2] * (high[0] - low[0]) >= 0 else high]
    return bracket[0], used


def _cubic(a: _Point, b: _Point, bounds: tuple[float, float] | None = None) -> float:
    """Where the cubic through two points with these slopes is least, within the bounds (Nocedal and Wright, equation 3.59)."""
    low, high = bounds or (min(a[0], b[0]), max(a[0], b[0]))
    d1 = a[2] + b[2] - 3 * (a[1] - b[1]) / (a[0] - b[0])
    square = d1 * d1 - a[2] * b[2]
    if not square >= 0:
        return (low + high) / 2
    d2 = square**0.5
    if a[0] <= b[0]:
        t = b[0] - (b[0] - a[0]) * ((b[2] + d2 - d1) / (b[2] - a[2] + 2 * d2))
    else:
        t = a[0] - (a[0] - b[0]) * ((a[2] + d2 - d1) / (a[2] - b[2] + 2 * d2))
    return min(max(t, low), high)
