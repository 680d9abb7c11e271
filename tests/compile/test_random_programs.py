"""Random programs of 5 to 60 operations: compiled and eager runs give the same bits as values, gradients and state.

HEADWATER_RANDOM_PROGRAMS=first:count runs that many seeds: pytest tests/compile/test_random_programs.py -m slow -k chosen
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from networks import OPTIMISERS
from random_programs import Writer
from same import array, assert_same, frozen

import headwater as hw

PASSES = sorted({name for name, _, _ in hw._C.pass_list()})
CONDITIONAL = 1e-4  # of the largest value: the gradient of a branch is summed up in it before it is added to others
COLUMNS = 4  # of programs for any number of rows


class Program:
    """What a seed decides."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.any_rows = seed % 5 == 4
        writer = Writer(seed, self.any_rows)
        dice = writer.dice
        self.shapes = [(dice.randint(1, 5), dice.randint(1, 5)) for _ in range(4)]  # two inputs, two parameters
        if self.any_rows:
            self.shapes = [(3, COLUMNS)] * 2 + [(COLUMNS, COLUMNS)] * 2
            writer.shapes += self.shapes[:2]
            writer.shapes += [(0, 0)] * 2  # never picked: their rows are others
        else:
            writer.shapes += self.shapes
        for _ in range(dice.randint(5, 60)):
            writer.write()
        self.steps = writer.steps
        count = len(writer.shapes)
        self.kept = [dice.choice([i for i in range(count) if i not in (2, 3)]) for _ in range(2)] + [count - 1 if self.steps else 0]
        self.inside = dice.random() < 0.5  # backward inside of the function, or outside
        self.optimiser = dice.choice([None, *OPTIMISERS])
        self.rows = [dice.randint(2, 6) for _ in range(4)] if self.any_rows else []
        lines = [f"inputs {self.shapes} {'backward, ' + str(self.optimiser) if self.inside else ''} rows {self.rows}, keeps {self.kept}"]
        self.text = "\n".join([*lines, *(f"v{i + 4} = {t}" for i, (t, _) in enumerate(self.steps))])

    def fresh(self) -> tuple[list[hw.Tensor], list[hw.Tensor], list[hw.Tensor]]:
        """Inputs, parameters and states."""
        rng = np.random.default_rng(self.seed)
        made = [hw.tensor(rng.standard_normal(s), dtype=hw.float32) for s in self.shapes]
        return made[:2], [t.requires_grad_() for t in made[2:]], [hw.ones(3), hw.ones(3)]

    def function(self, parameters: list, states: list, optimiser: Any) -> Callable:
        def run(x: hw.Tensor, y: hw.Tensor) -> tuple:
            values = [x, y, *parameters, states]
            for _, step in self.steps:
                values.insert(-1, step(values))
            outputs = [values[i] for i in self.kept]
            total = sum(v.mean() for v in values[2:-1])
            if not self.inside:
                return (*outputs, total)
            if not total.requires_grad:
                return (*[o.detach() for o in outputs], total)
            total.backward()
            if optimiser is not None:
                optimiser.step()
                optimiser.zero_grad()
            else:
                with hw.no_grad():
                    for p in parameters:
                        if p.grad is not None:
                            p.sub_(p.grad, alpha=0.1)
            return (*[o.detach().clone() for o in outputs], total.detach())

        return run

    def outcome(self, compiled: bool, calls: int = 3, memory_budget: int | None = None) -> tuple[list, Any]:
        """What holds after each call, and the function."""
        inputs, parameters, states = self.fresh()
        hw.manual_seed(self.seed)
        optimiser = OPTIMISERS[self.optimiser](parameters) if self.inside and self.optimiser else None
        run = self.function(parameters, states, optimiser)
        run = hw.compile(run, memory_budget=memory_budget) if compiled else run
        found = []
        for i in range(calls):
            x, y = ((t * (1 + i)) for t in inputs)
            if self.any_rows:
                x, y = (hw.cat([t] * 2)[: self.rows[i]].contiguous() for t in (x, y))
            x, y = (t.requires_grad_(self.seed % 3 == 0) for t in (x, y))
            results = run(x, y)
            if results[-1].requires_grad:
                results[-1].backward()
            found.append([[array(r) for r in results], frozen([x, y]), frozen(parameters), frozen(states)])
            if optimiser is not None:
                found[-1].append(frozen(optimiser))
            for p in parameters:
                p.grad = None if i % 2 else p.grad
        found.append(array(hw.get_rng_state()))
        return found, run


def check(seed: int, more: bool = False) -> None:
    """As it is and with one pass off; `more`: with every pass off, without generated code, and under two budgets."""
    program = Program(seed)
    want, _ = program.outcome(compiled=False)

    def run(what: str, off: str = "", codegen: str = "", **options: Any) -> Any:
        with pytest.MonkeyPatch.context() as patch:
            if off:
                patch.setenv("HEADWATER_PASSES_OFF", off)
            if codegen:
                patch.setenv("HEADWATER_CODEGEN", codegen)
            try:
                got, function = program.outcome(compiled=True, **options)
                assert_same(got, want, tolerance=CONDITIONAL if "= cond" in program.text else 0.0)
            except hw.CompileError as error:
                if not options.get("memory_budget") or "memory_budget" not in str(error):
                    raise AssertionError(f"seed {seed}, {what}:\n{program.text}\n{error}") from error
                return None
            except Exception as error:
                raise AssertionError(f"seed {seed}, {what}:\n{program.text}\n{error}") from None
            return function

    function = run("all passes")
    for off in PASSES if more else [PASSES[seed % len(PASSES)]]:
        run(f"without {off}", off)
    needed = max((p.working_bytes for p in function.inspect().programs), default=0)
    for part in (0.5, 0.75) if more else (0.6,):
        if more or seed % 4 == 1:
            run(f"in {part} of the memory", memory_budget=max(1, int(needed * part)))
    if more:
        run("without passes", ",".join(PASSES))
        run("without generated code", codegen="off")


@pytest.mark.parametrize("first", range(0, 60, 10))
def test_random_programs(first):
    for seed in range(first, first + 10):
        check(seed)


def test_programs_that_differed_once():
    check(1067)  # an expanded gradient of batch norm ran in another kernel than a dense one
    check(10273)  # two regions waited for each other by way of a third


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("first", range(1000, 3000, 100))
def test_more_random_programs(first):
    for seed in range(first, first + 100):
        check(seed, more=seed % 5 == 0)


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_chosen_random_programs():
    first, count = map(int, os.environ.get("HEADWATER_RANDOM_PROGRAMS", "10000:20").split(":"))
    for seed in range(first, first + count):
        check(seed, more=True)
