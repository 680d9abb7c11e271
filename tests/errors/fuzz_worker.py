"""Calls ops with hostile arguments in a process of its own, under a memory limit. test_fuzz.py starts it and reads its report.

    python fuzz_worker.py REPORT SEED CASES FIRST OP...

Every case is written to REPORT before it runs, so that a crash or a hang names its case. FIRST: cases before it are skipped.
"""

from __future__ import annotations

import faulthandler
import json
import os
import resource
import sys
import warnings
import zlib
from typing import Any

import numpy as np
import torch
from torch_measure import TIES, Asked

import headwater as hw
from hostile import Hostile, build

ALLOWED = (ValueError, TypeError, IndexError, RuntimeError, NotImplementedError, MemoryError, KeyError, OverflowError)
MEMORY = 3 << 30   # bytes beyond what the imports took
SECONDS = 200 if "libasan" in os.environ.get("LD_PRELOAD", "") else 20  # per op and 60 cases
LARGEST = 1 << 20  # elements: larger results are not compared
LOOSE = {"float16": 5e-3, "bfloat16": 5e-2, "float32": 1e-4, "complex64": 1e-4}


def limit_memory() -> None:
    with open("/proc/self/statm") as f:
        used = int(f.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def tensors(result: Any) -> list:
    if isinstance(result, (list, tuple)):
        return [t for r in result for t in tensors(r)]
    return [result] if isinstance(result, (hw.Tensor, torch.Tensor)) else []


def function_of(name: str, form: str, args: list) -> Any:
    """What to call; None if there is no such form."""
    if form == "function":
        return getattr(hw, name, None)
    return getattr(hw.Tensor, name + ("_" if form == "inplace" else ""), None) if args and isinstance(args[0], hw.Tensor) else None


def as_array(t: Any) -> np.ndarray:
    if isinstance(t, hw.Tensor):
        t = t.detach()
        return hw._C.to_numpy(hw.cast(t, hw.float32) if t.dtype == hw.bfloat16 else t)
    t = t.detach().resolve_conj().resolve_neg()
    return (t.float() if t.dtype == torch.bfloat16 else t).numpy()


def as_torch(t: Any) -> torch.Tensor:
    if isinstance(t, torch.Tensor):
        return t
    return torch.from_numpy(np.array(as_array(t))).to(getattr(torch, str(t.dtype).rsplit(".", 1)[-1]))


def compare(got: list, want: list) -> str:
    """What differs, or nothing. Only outputs of the same number are compared: torch has other extra outputs here and there."""
    if len(got) != len(want):
        return ""
    for g, w in zip(got, want):
        a, b = str(g.dtype).rsplit(".", 1)[-1], str(w.dtype).rsplit(".", 1)[-1]
        if b.endswith("complex32"):  # not a dtype of ours
            return ""
        if a != b:
            return f"dtype {a}, torch has {b}"
        if tuple(g.shape) != tuple(w.shape):
            return f"shape {tuple(g.shape)}, torch has {tuple(w.shape)}"
        if not 0 < g.numel() <= LARGEST:
            continue
        x, y = as_array(g), as_array(w)
        tol = LOOSE.get(a, 1e-6)
        if x.dtype.kind in "fc":
            with np.errstate(all="ignore"):
                x, y = x.astype("complex128"), y.astype("complex128")
                if a.startswith("complex"):  # which part becomes NaN is nobody's promise
                    x, y = (np.where(np.isfinite(v), v, np.nan) for v in (x, y))
                if not np.allclose(x, y, rtol=tol, atol=tol, equal_nan=True):
                    return f"values {x.ravel()[:6]}, torch has {y.ravel()[:6]}"
        elif not np.array_equal(x, y):
            return f"values {x.ravel()[:6]}, torch has {y.ravel()[:6]}"
    return ""


class Worker:
    def __init__(self, report: str, seed: int, first: int):
        self.file = os.open(report, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self.seed, self.first, self.index = seed, first, 0

    def say(self, **entry: Any) -> None:
        os.write(self.file, (json.dumps(entry) + "\n").encode())

    def run_op(self, name: str, cases: int) -> None:
        info = hw._C.describe_op(name)
        hostile = Hostile(self.seed * 1000003 + zlib.crc32(name.encode()))
        forms = ["function"] * 3 + ["method"] * info["method"] + ["inplace"] * info["inplace"]
        faulthandler.dump_traceback_later(SECONDS * max(1, cases // 60), exit=True)
        for _ in range(cases):
            args, kwargs = hostile.call(info)
            form = hostile.r.choice(forms)
            self.index += 1
            if self.index > self.first:
                self.run_case(name, info, form, args, kwargs)
        faulthandler.cancel_dump_traceback_later()

    def run_case(self, name: str, info: dict, form: str, args: list, kwargs: dict) -> None:
        text = f"{form} {name}({', '.join([repr(a) for a in args] + [f'{k}={v!r}' for k, v in kwargs.items()])})"
        self.say(index=self.index, op=name, phase="headwater", call=text)
        try:
            mine = build(args, hw), {k: build(v, hw) for k, v in kwargs.items()}
            function = function_of(name, form, mine[0])
            if function is None:
                return
            if form == "inplace":
                mine[0][0] = mine[0][0].clone()
            hw.manual_seed(1)
            result = function(*mine[0], **mine[1])
            got = tensors(result)
            arrays = [as_array(t) for t in got if 0 < t.numel() <= LARGEST]  # touches every element
            del arrays
        except ALLOWED as e:
            if name not in str(e) and not isinstance(e, MemoryError):
                self.say(index=self.index, finding="message", call=text, detail=f"{type(e).__name__} does not name the op: {e}")
            return
        except BaseException as e:  # noqa: BLE001  any other class is what this looks for
            self.say(index=self.index, finding="exception", call=text, detail=f"{type(e).__name__}: {e}")
            return
        if form != "inplace" and self.index % 3 == 0:
            self.differentiate(name, text, function, args, kwargs)
        drew = hw.default_generator.get_state()[1] > 0  # a random op, or one made of them
        if drew:
            return
        self.say(index=self.index, op=name, phase="torch", call=text)
        asked = Asked(name, info, args, kwargs)
        if asked.undefined(got):
            return
        try:
            want = asked.answer(form)
        except Exception:  # noqa: BLE001  torch refuses: nothing to compare
            return
        if name in TIES and form != "inplace" and len(got) == len(want) and all(g.numel() for g in got):
            got, want = (asked.by_value([as_torch(t) for t in r]) for r in (got, want))
        difference = compare(got, want)
        if difference:
            self.say(index=self.index, finding="difference", call=text, detail=difference)

    def differentiate(self, name: str, text: str, function: Any, args: list, kwargs: dict) -> None:
        """The same call with gradients: none may crash, and each has the shape of its tensor."""
        self.say(index=self.index, op=name, phase="headwater", call=f"gradient of {text}")

        def leaf(v: Any) -> Any:
            if isinstance(v, (list, tuple)):
                return type(v)(leaf(x) for x in v)
            inexact = isinstance(v, hw.Tensor) and (v.is_floating_point() or v.is_complex())
            return v.detach().requires_grad_() if inexact else v

        given = leaf(build(args, hw)), {k: leaf(build(v, hw)) for k, v in kwargs.items()}
        leaves = [t for t in tensors([*given[0], *given[1].values()]) if t.requires_grad]
        try:
            for y in tensors(function(*given[0], **given[1])):
                if y.requires_grad:
                    y.backward(hw.ones_like(y), retain_graph=True)
        except ALLOWED as e:
            if "internal error" in str(e):
                self.say(index=self.index, finding="bug", call=f"gradient of {text}", detail=f"{type(e).__name__}: {e}")
            return
        except BaseException as e:  # noqa: BLE001
            self.say(index=self.index, finding="exception", call=f"gradient of {text}", detail=f"{type(e).__name__}: {e}")
            return
        for t in leaves:
            if t.grad is not None and (tuple(t.grad.shape) != tuple(t.shape) or t.grad.dtype != t.dtype):
                self.say(index=self.index, finding="gradient", call=text, detail=f"{t.grad.dtype} {tuple(t.grad.shape)} of {t.dtype} {tuple(t.shape)}")


def main() -> None:
    report, seed, cases, first, *ops = sys.argv[1:]
    warnings.simplefilter("ignore")
    faulthandler.enable()
    torch.set_num_threads(1)
    limit_memory()
    worker = Worker(report, int(seed), int(first))
    for name in ops:
        worker.run_op(name, int(cases))
    worker.say(done=True)


if __name__ == "__main__":
    main()
