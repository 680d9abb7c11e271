"""How tensors are printed: as a torch user expects."""
from __future__ import annotations

import math
from typing import Any

from . import _C
from ._C import Tensor

_options: dict[str, Any] = {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80, "sci_mode": None}


def set_printoptions(precision: int | None = None, threshold: int | None = None, edgeitems: int | None = None,
                     linewidth: int | None = None, profile: str | None = None, sci_mode: bool | None = None) -> None:
    """Sets how tensors are printed: digits after the point, elements before a summary, elements at its edges, characters a line.

    `profile` is "default", "short" or "full"; `sci_mode` forces or forbids scientific notation.
    """
    profiles: dict[str, dict[str, Any]] = {
        "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
        "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
        "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80}}
    if profile is not None:
        _options.update(profiles[profile])
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    _options.update({k: v for k, v in given.items() if v is not None})
    _options["sci_mode"] = sci_mode


class _Format:
    """Turns the numbers of one tensor into texts of one width."""

    def __init__(self, values: list[Any], kind: str):
        self.kind, self.width, self.scientific, self.whole = kind, 1, False, False
        if kind == "complex":
            self.real = _Format([v.real for v in values], "float")
            self.imag = _Format([v.imag for v in values], "float")
            self.width = self.real.width + self.imag.width + 1
            return
        if kind == "float":
            finite = [abs(v) for v in values if math.isfinite(v) and v != 0]
            self.whole = all(v == math.ceil(v) for v in finite)
            if finite:
                low, high = min(finite), max(finite)
                self.scientific = high / low > 1000 or high > 1e8 or (not self.whole and low < 1e-4)
            if _options["sci_mode"] is not None:
                self.scientific = _options["sci_mode"]
        self.width = max((len(self.one(v)) for v in values), default=0)

    def one(self, v: Any) -> str:
        if self.kind != "float":
            return str(v)
        if not math.isfinite(v):
            return str(v)
        digits = _options["precision"]
        if self.scientific:
            return f"{v:.{digits}e}"
        return f"{v:.0f}." if self.whole else f"{v:.{digits}f}"

    def __call__(self, v: Any) -> str:
        if self.kind == "complex":
            sign = "-" if math.copysign(1, v.imag) < 0 else "+"
            return f"{self.real(v.real)}{sign}{self.imag.one(abs(v.imag)).rjust(self.imag.width - 0).strip()}j"
        return self.one(v).rjust(self.width)


def _edges(t: Tensor) -> Tensor:
    """Only the elements that a summary shows."""
    k = _options["edgeitems"]
    if t.ndim == 0:
        return t
    keep = range(len(t)) if len(t) <= 2 * k else [*range(k), *range(len(t) - k, len(t))]
    parts = [_edges(t[i]).reshape(-1) for i in keep]
    return _C.op_function_of("cat", False)(parts) if parts else t.reshape(-1)


def _rows(t: Tensor, fmt: _Format, indent: int, summarize: bool) -> str:
    k = _options["edgeitems"]
    if t.ndim == 0:
        return fmt(t.item())
    n = len(t)
    cut = summarize and n > 2 * k
    if t.ndim == 1:
        items = t.tolist() if not cut else t[:k].tolist() + t[n - k:].tolist()
        texts = [fmt(v) for v in items]
        if cut:
            texts.insert(k, " ...")
        per_line = max(1, int((_options["linewidth"] - indent) // (max(fmt.width, 1) + 2)))
        lines = [", ".join(texts[i:i + per_line]) for i in range(0, len(texts), per_line)] or [""]
        return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"
    index = [*range(k), None, *range(n - k, n)] if cut else range(n)
    parts = ["..." if i is None else _rows(t[i], fmt, indent + 1, summarize) for i in index]
    return "[" + (("," + "\n" * (t.ndim - 1) + " " * (indent + 1)).join(parts)) + "]"


def _body(t: Tensor, indent: int) -> str:
    values = t.detach()
    if values.dtype is _C.bfloat16 or values.dtype is _C.float16:
        values.as_strided((), ()).item()  # an error where there are no values: the tensor outlived the capture that made it
        values = values.to(_C.float32)
    summarize = values.numel() > _options["threshold"]
    kind = "complex" if values.is_complex() else "float" if values.is_floating_point() else "other"
    shown = (_edges(values) if summarize else values).reshape(-1).tolist()
    return _rows(values, _Format(shown, kind), indent, summarize)


def tensor_text(t: Tensor, name: str = "tensor") -> str:
    """The text of `repr(t)`."""
    inference = _C.is_inference_mode()
    _C.set_inference_mode(False)
    grad, anomaly = _C.set_grad_enabled(False), _C.set_anomaly(False)
    try:
        prefix = f"{name}("
        extra = []
        whole = _C.full(t) if _C.is_global(t) else t
        if t.numel() == 0:
            body = "[]"
            if t.ndim != 1:
                extra.append(f"size=({', '.join(map(str, t.shape))}{',' if t.ndim == 1 else ''})")
        else:
            body = _body(whole, len(prefix))
        plain = (_C.get_default_dtype(), _C.bool, _C.int64, _C.complex64)
        if t.dtype not in plain or (t.numel() == 0 and t.dtype is not _C.get_default_dtype()):
            extra.append(f"dtype={t.dtype!r}")
        if _C.is_global(t):
            extra += [f"mesh={_C.mesh_of(t)}", f"sbp={_C.sbp_of(t)}"]
    finally:
        _C.set_grad_enabled(grad)
        _C.set_anomaly(anomaly)
        _C.set_inference_mode(inference)
    if t.grad_fn is not None:
        extra.append(f"grad_fn={t.grad_fn}")
    elif t.requires_grad:
        extra.append("requires_grad=True")
    text = prefix + body
    room = _options["linewidth"] - (len(text) - text.rfind("\n") - 1)
    for entry in extra:  # on a line of its own where it would be too long
        if len(entry) + 2 > room:
            text, room = f"{text},\n{' ' * len(prefix)}{entry}", _options["linewidth"] - len(prefix) - len(entry)
        else:
            text, room = f"{text}, {entry}", room - len(entry) - 2
    return text + ")"


Tensor.__repr__ = lambda self: tensor_text(self)
Tensor.__str__ = lambda self: tensor_text(self)
