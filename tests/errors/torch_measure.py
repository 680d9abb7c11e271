"""What torch is asked for a call of the fuzzer, and where torch's answer is no measure: each case with its reason."""

from __future__ import annotations

from typing import Any

import torch

from hostile import DTypeSpec, TensorSpec, build

# torch rounds numbers, or what comes out between two steps, to 16 bits: asked in float64, of the same values.
ROUNDED = ("histc", "logit", "add", "sub", "rsub", "xlogy", "addcmul", "addcdiv", "remainder", "fmod", "floor_divide", "prod", "cumprod", "ldexp")
TIES = ("kthvalue", "median", "mode", "topk", "sort", "argsort", "nanmedian")  # equal elements: which index is returned is open
VALUELESS = ("empty", "new_empty", "empty_like", "empty_strided")  # results without defined values
NAMED = ("unique_consecutive", "softmin")  # torch's function takes other arguments by position
EXTREME = 1e6


class Asked:
    """One call, with its arguments by name."""

    def __init__(self, name: str, info: dict, args: list, kwargs: dict):
        self.name, self.info, self.args, self.kwargs = name, info, args, kwargs
        self.named = {**dict(zip(info["order"], args)), **kwargs}
        self.tensors = [v for v in self.named.values() if isinstance(v, TensorSpec)]
        self.floats = [t for t in self.tensors if "float" in t.dtype or "complex" in t.dtype]
        self.special = any(t.special for t in self.floats)  # one element is NaN, infinite or 0
        self.sixteen = any("16" in t.dtype for t in self.floats)
        self.empty = any(0 in t.shape for t in self.tensors)
        self.numbers = [v for v in self.named.values() if isinstance(v, (int, float)) and not isinstance(v, bool)]
        dtype = self.named.get("dtype")
        self.to_integer = isinstance(dtype, DTypeSpec) and "float" not in dtype.name and "complex" not in dtype.name

    def function(self, form: str, first: Any) -> Any:
        """torch's function or method of this name, or None."""
        if self.info["file"].startswith("src/ops/loss/") or self.name in ("embedding", "softmin"):
            return getattr(torch.nn.functional, self.name, None) if form == "function" else None
        if form != "function" or self.name == "unfold":  # nn.functional.unfold is another
            method = self.name + ("_" if form == "inplace" else "")
            return getattr(torch.Tensor, method, None) if isinstance(first, torch.Tensor) else None
        return getattr(torch, self.name, None) or getattr(torch.nn.functional, self.name, None)

    def call(self, form: str, wide: bool = False) -> list:
        """torch's results; raises what torch raises. wide: 16-bit tensors as float64."""
        args, kwargs = list(self.args), dict(self.kwargs)
        if self.name in NAMED or self.info["file"].startswith("src/ops/loss/"):
            args, kwargs = args[:1], {**dict(zip(self.info["order"][1:], args[1:])), **kwargs}
        if self.name == "isin":
            kwargs.pop("assume_unique", None)  # a promise that the case may break
        args, kwargs = build(args, torch), {k: build(v, torch) for k, v in kwargs.items()}
        if wide:
            args, kwargs = [widened(a) for a in args], {k: widened(v) for k, v in kwargs.items()}
        function = self.function(form, args[0] if args else None)
        if function is None:
            raise LookupError(self.name)
        if form == "inplace":
            args[0] = args[0].clone()
        return flat(function(*args, **kwargs))

    def answer(self, form: str) -> list:
        want = self.call(form)
        if self.name in ROUNDED and (self.sixteen or "dtype" in self.named):
            exact = self.call(form, wide=True)
            want = [e.to(w.dtype) for e, w in zip(exact, want)]
        return want

    def by_value(self, got: list) -> list:
        """Results with each index replaced by the element it points to, so that ties do not matter."""
        x = build(self.named["input"], torch)
        dim = self.named.get("dim", -1)
        if x.ndim == 0 or not isinstance(dim, int) or len(got) < 1 or len(got) == 1 and self.name != "argsort":
            return got
        *values, index = got
        if index.dtype != torch.int64:
            return got
        full = index.ndim == x.ndim
        found = x.gather(dim, index if full else index.unsqueeze(dim))
        found = found if full else found.squeeze(dim)
        pair = [*values, found]
        return [v.sort(dim).values for v in pair] if self.named.get("sorted") is False else pair

    def undefined(self, got: list) -> str:
        """Why torch's answer is not the measure, or nothing."""
        for reason in (self.of_numbers(), self.of_tensors(got)):
            if reason:
                return reason
        return ""

    def of_numbers(self) -> str:
        name, numbers = self.name, self.numbers
        if name in VALUELESS:
            return "no defined values"
        if name in ("linspace", "logspace") and self.to_integer and any(v != int(v) for v in numbers if abs(v) < EXTREME):
            return "torch cuts fractions off the ends before it takes the steps"
        if name == "logspace" and any(abs(v) > EXTREME or v != v or v == 0 for v in numbers):
            return "powers beyond the dtype: torch's vectors and its last elements disagree"
        if name in ("norm", "dist", "cdist", "renorm") and any(p != 0 and not 1e-6 < abs(p) < EXTREME and abs(p) != float("inf") for p in numbers):
            return "powers that no float holds; torch does not take them where there is one element"
        if name in ("norm", "dist", "cdist") and any(p != p for p in numbers):
            return "order NaN"
        if name == "huber_loss" and any(v == float("inf") for v in numbers):
            return "torch: infinity minus infinity where difference and delta are both infinite"
        if name == "cov" and any(abs(v) > 2**62 for v in numbers):
            return "torch's correction wraps around"
        if name == "celu" and any(abs(v) == float("inf") for v in numbers):
            return "infinity times zero"
        if name in ("addcmul", "addcdiv") and any(abs(v) > 1e300 for v in numbers):
            return "which of three factors overflows first"
        if name == "scaled_dot_product_attention" and any(abs(v) > 1e30 for v in numbers):
            return "scores that overflow: torch's kernels disagree whether such a row is NaN or 0"
        if name in ("triu_indices", "tril_indices") and any(abs(v) > 2**62 for v in numbers):
            return "torch's offset wraps around, and it returns indices outside of the matrix"
        if name == "matrix_power" and any(v == -(2**63) for v in numbers):
            return "torch does not return"
        return ""

    def of_tensors(self, got: list) -> str:
        name = self.name
        to_integer = self.to_integer or name == "copy_" or any(not t.dtype.startswith(("float", "bfloat", "complex")) for t in self.tensors[:1])
        if self.special and to_integer and any(not (g.is_floating_point() or g.is_complex()) for g in got):
            return "NaN and infinity as an integer: undefined in C++"
        if self.special:
            special = {"searchsorted": "a sequence with NaN is not sorted", "bucketize": "a sequence with NaN is not sorted",
                       "unique": "rows with NaN have no order", "mode": "NaN has no place in torch's order",
                       "var_mean": "torch: NaN as the mean of an infinity and numbers", "std_mean": "torch: NaN as the mean of an infinity and numbers",
                       "gelu": "torch: infinity times zero, so that gelu(-inf) is NaN", "cdist": "torch's maximum passes NaN over",
                       "copysign": "the sign of a converted NaN", "signbit": "the sign of a converted NaN", "pow": "torch: NaN ** 0 of complex numbers",
                       "float_power": "torch: NaN ** 0 of complex numbers", "renorm": "torch's norms of rows with NaN", "matrix_power": "the order of products",
                       "fake_quantize_per_tensor_affine": "NaN as an integer", "fake_quantize_per_channel_affine": "NaN as an integer"}
            if name in special:
                return special[name]
        if self.info["file"].startswith("src/ops/loss/") and len({t.dtype for t in self.floats}) > 1:
            return "torch: the dtype of one of the two, which differs from loss to loss"
        if self.info["numbers"] == "compares" and any(not 0 <= v <= 127 for v in self.numbers if isinstance(v, int)):
            return "torch cuts the number off to the tensor's dtype: test_numbers.py"
        if name == "put" and not unique_index(self.named.get("index"), self.named.get("input")):
            return "equal indices: which value stays is open"
        if name == "trapezoid" and self.empty:
            return "torch: zeros of the dtype of y whatever dx and x"
        if name == "cross_entropy" and self.empty:
            return "torch: the mean over no classes is NaN; the sum over none is 0"
        if name == "bincount" and self.empty:
            return "torch: int64 whatever the weights"
        if name in ("dist", "cdist") and len({t.dtype for t in self.tensors}) > 1:
            return "torch: the dtype of the first"
        if name == "matrix_power" and self.sixteen:
            return "torch rounds each product to 16 bits"
        if name == "addmv" and self.empty:
            return "torch: the shape of input instead of the product's"
        return ""


def flat(result: Any) -> list:
    if isinstance(result, (list, tuple)):
        return [t for r in result for t in flat(r)]
    return [result] if isinstance(result, torch.Tensor) else []


def widened(v: Any) -> Any:
    if isinstance(v, torch.Tensor):
        return v.double() if v.dtype in (torch.float16, torch.bfloat16) else v
    return torch.float64 if v in (torch.float16, torch.bfloat16) else v


def unique_index(index: Any, x: Any) -> bool:
    if not isinstance(index, TensorSpec) or not isinstance(x, TensorSpec):
        return False
    n = max(1, int(torch.tensor(x.shape).prod())) if x.shape else 1
    places = [int(i) % n for i in index.array().ravel()]
    return len(set(places)) == len(places) and index.layout != "expanded"
