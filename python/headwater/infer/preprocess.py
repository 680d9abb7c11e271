"""What is done to the pixels of an image before a model sees them, as operators that a frozen model begins with."""
from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import headwater as hw

from .._C import Tensor

_LAYOUTS = ("NHWC", "NCHW")
_MODES = ("bilinear", "bicubic", "nearest")


def _pair(size: int | Sequence[int] | None, what: str) -> tuple[int, int] | None:
    if size is None:
        return None
    pair = (size, size) if isinstance(size, int) else tuple(size)
    if len(pair) != 2 or min(pair) < 1:
        raise ValueError(f"{what} is a height and a width, both at least 1, or one number for both; got {size}")
    return int(pair[0]), int(pair[1])


@dataclass(frozen=True)
class Preprocess:
    """Pixels to a model's input, in this order: cut `box`, resize, cut `crop`, choose channels, divide, subtract `mean`, divide by `std`.
    What is not given is not done.

    Args:
        layout: of the pixels, "NHWC" or "NCHW", of uint8. A single image without N becomes a batch of one.
        box: (top, left, height, width) that is cut out of the image as it comes.
        resize: (height, width), or one number for both; the aspect ratio is not kept.
        mode: of resizing: "bilinear", "bicubic" or "nearest", with the centres of pixels as in torch's `interpolate`
            (align_corners=False). Sums stay floating, they are not rounded to bytes.
        antialias: whether resizing to less takes all pixels into account.
        crop: (height, width) of the middle, or one number for both. An odd pixel stays at the bottom and at the right.
        channels: the channels taken, in order: (2, 1, 0) makes RGB of BGR, (0, 1, 2) drops alpha, (0, 0, 0) makes three of gray.
        divide: by what all is divided first.
        mean: what is subtracted of each channel then, in units of the divided pixels; one number for all or one for each.
        std: by what each channel is divided last.
        dtype: of the model's input, in which all of this is computed.

    It may be called with pixels, so that evaluation and the frozen model do the same.

    >>> rgb = Preprocess(crop=224, mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225))
    >>> tuple(rgb(hw.zeros(256, 256, 3, dtype=hw.uint8)).shape)
    (1, 3, 224, 224)
    """

    layout: str = "NHWC"
    box: Sequence[int] | None = None
    resize: int | Sequence[int] | None = None
    mode: str = "bilinear"
    antialias: bool = False
    crop: int | Sequence[int] | None = None
    channels: Sequence[int] | None = None
    divide: float = 255.0
    mean: float | Sequence[float] | None = None
    std: float | Sequence[float] | None = None
    dtype: Any = hw.float32

    def __post_init__(self) -> None:
        if self.layout not in _LAYOUTS:
            raise ValueError(f"layout is one of {', '.join(_LAYOUTS)}, got {self.layout!r}")
        if self.mode not in _MODES:
            raise ValueError(f"mode is one of {', '.join(_MODES)}, got {self.mode!r}")
        if self.antialias and self.mode == "nearest":
            raise ValueError("antialias is for bilinear and bicubic, not for nearest")
        _pair(self.resize, "resize")
        _pair(self.crop, "crop")
        if self.box is not None and (len(self.box) != 4 or min(self.box[:2]) < 0 or min(self.box[2:]) < 1):
            raise ValueError(f"box is (top, left, height, width) inside of the image, got {tuple(self.box)}")
        if self.channels is not None and (len(self.channels) == 0 or min(self.channels) < 0):
            raise ValueError(f"channels are numbers from 0 on, at least one; got {tuple(self.channels)}")
        stds = () if self.std is None else (self.std,) if isinstance(self.std, (int, float)) else tuple(self.std)
        if self.divide == 0 or 0 in stds:
            raise ValueError("divide and std are not 0")

    def __call__(self, pixels: Tensor) -> Tensor:
        """The model's input, N C H W."""
        x = self._planes(pixels)
        if self.box is not None:
            x = _cut(x, *self.box)
        x = x.to(self.dtype)
        size = _pair(self.resize, "resize")
        if size is not None and size != tuple(x.shape[2:]):
            corners = None if self.mode == "nearest" else False
            x = hw.nn.functional.interpolate(x, size, mode=self.mode, align_corners=corners, antialias=self.antialias)
        if (crop := _pair(self.crop, "crop")) is not None:
            height, width = x.shape[2:]
            x = _cut(x, (height - crop[0]) // 2, (width - crop[1]) // 2, *crop)
        if self.channels is not None:
            x = self._chosen(x)
        if self.divide != 1:
            x = x / self.divide
        if self.mean is not None:
            x = x - self._of_channels(self.mean, x, "mean")
        if self.std is not None:
            x = x / self._of_channels(self.std, x, "std")
        return x.contiguous()

    def _planes(self, pixels: Tensor) -> Tensor:
        if pixels.dtype != hw.uint8:
            raise ValueError(f"pixels are uint8, got {pixels.dtype}")
        if pixels.ndim not in (3, 4):
            raise ValueError(f"pixels are {self.layout} or {self.layout[1:]}, got the shape {tuple(pixels.shape)}")
        x = pixels if pixels.ndim == 4 else pixels.unsqueeze(0)
        return x.permute(0, 3, 1, 2) if self.layout == "NHWC" else x

    def _chosen(self, x: Tensor) -> Tensor:
        chosen = tuple(self.channels or ())
        if max(chosen) >= x.shape[1]:
            raise ValueError(f"channels {chosen} of pixels that have {x.shape[1]}: is the layout {self.layout}?")
        if chosen == tuple(range(x.shape[1])):
            return x
        return hw.cat([x[:, c : c + 1] for c in chosen], 1)

    def _of_channels(self, values: float | Sequence[float], x: Tensor, what: str) -> Any:
        if isinstance(values, (int, float)):
            return float(values)
        if len(values) != x.shape[1]:
            raise ValueError(f"{what} has {len(values)} numbers for {x.shape[1]} channels: is the layout {self.layout}?")
        return hw.tensor([float(v) for v in values], dtype=self.dtype).reshape(1, -1, 1, 1)

    def text(self) -> str:
        """As JSON, what is done alone: the note `preprocess` of the file."""
        plain = {key: value for key, value in asdict(self).items() if key != "dtype" and value not in (None, False)}
        if self.resize is None:
            del plain["mode"]
        return json.dumps(plain | {"dtype": str(self.dtype).removeprefix("headwater.")})


def _cut(x: Tensor, top: int, left: int, height: int, width: int) -> Tensor:
    if top < 0 or left < 0 or top + height > x.shape[2] or left + width > x.shape[3]:
        raise ValueError(
            f"{height}x{width} pixels at ({top}, {left}) do not lie in an image of {x.shape[2]}x{x.shape[3]}; resize it to more"
        )
    return x[:, :, top : top + height, left : left + width]


def preprocessed(
    model: Callable[..., Any], given: Preprocess | Mapping[str, Preprocess]
) -> tuple[Callable[..., Any], dict[str, Preprocess]]:
    """The model as a function of pixels, with the names of its parameters; and what is done to which. One alone is for the first."""
    forward = model.forward if isinstance(model, hw.nn.Module) else model
    signature = inspect.signature(forward)
    if isinstance(given, Preprocess):
        if not signature.parameters:
            raise ValueError("preprocess: the model has no parameters")
        steps = {next(iter(signature.parameters)): given}
    else:
        steps = dict(given)
    for name, step in steps.items():
        if name not in signature.parameters:
            raise ValueError(f"preprocess: the model has no parameter '{name}'; it has {', '.join(signature.parameters)}")
        if not isinstance(step, Preprocess):
            raise TypeError(f"preprocess of '{name}' is a hw.infer.Preprocess, got {type(step).__name__}")

    def call(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        for name, step in steps.items():
            if name not in bound.arguments or not isinstance(bound.arguments[name], Tensor):
                raise ValueError(f"preprocess: '{name}' is not given as a tensor of pixels")
            bound.arguments[name] = step(bound.arguments[name])
        return model(*bound.args, **bound.kwargs)

    call.__signature__ = signature  # type: ignore[attr-defined]
    call.__name__ = str(getattr(model, "__name__", type(model).__name__))
    return call, steps
