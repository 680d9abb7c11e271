"""Sliding windows as ONNX describes them: kernel, strides, dilations, pads, auto_pad, ceil_mode. No handlers here."""
from __future__ import annotations

from dataclasses import dataclass

from ..node import Node
from ..requirement import OnnxError


@dataclass
class Windows:
    """For each spatial axis: kernel, stride, dilation, padding before and after, and the number of windows."""

    kernel: list[int]
    stride: list[int]
    dilation: list[int]
    before: list[int]
    after: list[int]
    ceil: bool = False

    @property
    def rank(self) -> int:
        return len(self.kernel)

    def reach(self, axis: int) -> int:
        return (self.kernel[axis] - 1) * self.dilation[axis] + 1

    def count(self, axis: int, size: int) -> int:
        """The number of windows; one that would start in the padding after the data does not count."""
        room = size + self.before[axis] + self.after[axis] - self.reach(axis)
        if room < 0:
            raise OnnxError(f"a window of {self.reach(axis)} does not fit into {size} with its padding")
        if not self.ceil:
            return room // self.stride[axis] + 1
        count = -(-room // self.stride[axis]) + 1
        return count - 1 if (count - 1) * self.stride[axis] >= size + self.before[axis] else count

    def overhang(self, axis: int, size: int) -> int:
        """What to pad after the data so that the windows just fit; negative: what they leave over."""
        return (self.count(axis, size) - 1) * self.stride[axis] + self.reach(axis) - size - self.before[axis]

    def symmetric(self) -> bool:
        return self.before == self.after


def windows_of(node: Node, spatial: list[int], kernel: list[int]) -> Windows:
    """Of a node's attributes, for data of the given sizes."""
    rank = len(kernel)
    if rank != len(spatial):
        raise OnnxError(f"the kernel has {rank} axes, the data {len(spatial)}")
    stride, dilation = node.attr("strides", [1] * rank), node.attr("dilations", [1] * rank)
    pads, auto = node.attr("pads", [0] * (2 * rank)), node.attr("auto_pad", "NOTSET")
    if len(stride) != rank or len(dilation) != rank or len(pads) != 2 * rank or any(s < 1 for s in [*stride, *dilation, *kernel]):
        raise OnnxError(f"strides {stride}, dilations {dilation} and pads {pads} do not fit a kernel of {kernel}")
    made = Windows(list(kernel), stride, dilation, list(pads[:rank]), list(pads[rank:]), bool(node.attr("ceil_mode", 0)))
    if auto in ("SAME_UPPER", "SAME_LOWER"):
        for i, n in enumerate(spatial):
            total = max((-(-n // stride[i]) - 1) * stride[i] + made.reach(i) - n, 0)
            small, large = total // 2, total - total // 2
            made.before[i], made.after[i] = (small, large) if auto == "SAME_UPPER" else (large, small)
    elif auto == "VALID":
        made.before, made.after = [0] * rank, [0] * rank
    elif auto != "NOTSET":
        raise OnnxError(f"there is no auto_pad '{auto}'")
    return made
