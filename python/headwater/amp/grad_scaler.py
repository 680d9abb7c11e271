"""Loss scaling for float16: gradients too small for the type are kept by scaling the loss up and the gradients down."""

from __future__ import annotations

from typing import Any

import headwater as hw


class GradScaler:
    """Micikevicius et al., "Mixed precision training", ICLR 2018, with a dynamic scale.

    The scale grows by `growth_factor` after `growth_interval` steps without inf or NaN, and shrinks by `backoff_factor`
    when a gradient overflows; that step is left out. bfloat16 needs none of this.

    >>> scaler = hw.amp.GradScaler()                     # doctest: +SKIP
    >>> scaler.scale(loss).backward()                    # doctest: +SKIP
    >>> scaler.step(optimizer)                           # doctest: +SKIP
    >>> scaler.update()                                  # doctest: +SKIP
    """

    def __init__(
        self,
        device: str = "cpu",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        if growth_factor <= 1:
            raise ValueError(f"growth_factor must be above 1, got {growth_factor}")
        if not 0 < backoff_factor < 1:
            raise ValueError(f"backoff_factor must be in (0, 1), got {backoff_factor}")
        self._enabled, self._scale = enabled, float(init_scale)
        self._growth_factor, self._backoff_factor, self._growth_interval = growth_factor, backoff_factor, growth_interval
        self._growth_tracker = 0
        self._overflowed: dict[int, bool] = {}  # optimizers unscaled since the last update, and whether with inf or NaN
        self._stepped: set[int] = set()

    def scale(self, outputs: Any) -> Any:
        """The tensor, or list or tuple of tensors, times the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, (list, tuple)):
            return type(outputs)(self.scale(x) for x in outputs)
        if not isinstance(outputs, hw.Tensor):
            raise ValueError(f"scale takes tensors, or lists of them, got {type(outputs).__name__}")
        return outputs * self._scale

    def unscale_(self, optimizer: Any) -> None:
        """Divides the gradients by the scale: call it before clipping them. `step` does it otherwise."""
        if not self._enabled:
            return
        key = id(optimizer)
        if key in self._stepped:
            raise RuntimeError("unscale_() is called after step(); call update() first")
        if key in self._overflowed:
            raise RuntimeError("unscale_() was already called for this optimizer since the last update()")
        overflowed = False
        with hw.no_grad():
            for group in optimizer.param_groups:
                for param in group["params"]:
                    if param.sparse_grad is not None:
                        param.sparse_grad.mul_(1.0 / self._scale)
                        overflowed = overflowed or not bool(hw.isfinite(param.sparse_grad.square_sum()).item())
                    if param.grad is None:
                        continue
                    if param.grad.dtype == hw.float16:
                        raise ValueError("gradients in float16 cannot be unscaled: keep the parameters in float32")
                    param.grad.mul_(1.0 / self._scale)
                    overflowed = overflowed or not bool(hw.isfinite(param.grad).all().item())
        self._overflowed[key] = overflowed

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """optimizer.step(), unless a gradient is inf or NaN. Closures are not possible."""
        if "closure" in kwargs:
            raise RuntimeError("a closure cannot be used with GradScaler")
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        key = id(optimizer)
        if key in self._stepped:
            raise RuntimeError("step() was already called since the last update()")
        if key not in self._overflowed:
            self.unscale_(optimizer)
        self._stepped.add(key)
        return None if self._overflowed[key] else optimizer.step(*args, **kwargs)

    def update(self, new_scale: Any = None) -> None:
        """Adapts the scale; call it once after all steps of an iteration."""
        if not self._enabled:
            return
        if new_scale is not None:
            self._scale = float(new_scale)
        elif not self._overflowed:
            raise RuntimeError("no gradients were looked at since the last update(): call step() or unscale_() first")
        elif any(self._overflowed.values()):
            self._scale *= self._backoff_factor
            self._growth_tracker = 0
        else:
            self._growth_tracker += 1
            if self._growth_tracker == self._growth_interval:
                self._scale *= self._growth_factor
                self._growth_tracker = 0
        self._overflowed.clear()
        self._stepped.clear()

    # ------------------------------------------------------------------ settings and saving
    def is_enabled(self) -> bool:
        return self._enabled

    def get_scale(self) -> float:
        return self._scale if self._enabled else 1.0

    def get_growth_factor(self) -> float:
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        self._growth_interval = new_interval

    def state_dict(self) -> dict[str, Any]:
        if not self._enabled:
            return {}
        return {
            "scale": self._scale, "growth_factor": self._growth_factor, "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval, "_growth_tracker": self._growth_tracker,
        }  # fmt: skip

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError("the state dict is empty: it was saved by a GradScaler that was not enabled")
        self._scale = float(state_dict["scale"])
        self._growth_factor, self._backoff_factor = state_dict["growth_factor"], state_dict["backoff_factor"]
        self._growth_interval, self._growth_tracker = state_dict["growth_interval"], state_dict["_growth_tracker"]
