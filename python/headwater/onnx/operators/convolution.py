"""Handlers of convolutions, forward, transposed and deformed."""
from __future__ import annotations

from typing import Any

import headwater as hw

from ..node import Node
from ..registry import op
from ..requirement import OnnxError
from ..values import check_size
from .windows import Windows, windows_of

_FORWARD = {1: hw.conv1d, 2: hw.conv2d, 3: hw.conv3d}
_TRANSPOSED = {1: hw.conv_transpose1d, 2: hw.conv_transpose2d, 3: hw.conv_transpose3d}


def _check_rank(rank: int) -> None:
    if rank not in _FORWARD:
        raise OnnxError(f"a convolution over {rank} axes is not supported, only over 1 to 3")


def pad_spatial(x: Any, before: list[int], after: list[int], value: float = 0.0) -> Any:
    check_size([*x.shape[:2], *(n + b + a for n, b, a in zip(x.shape[2:], before, after))])
    flat = [amount for pair in zip(reversed(before), reversed(after)) for amount in pair]
    return hw.pad(x, flat, value=value) if any(flat) else x


def convolve(node: Node, x: Any, weight: Any, bias: Any, fill: float = 0.0) -> Any:
    windows = windows_of(node, list(x.shape[2:]), node.attr("kernel_shape", list(weight.shape[2:])))
    _check_rank(windows.rank)
    padding = windows.before
    if not windows.symmetric() or fill or any(p < 0 for p in padding):
        x, padding = pad_spatial(x, windows.before, windows.after, fill), [0] * windows.rank
    if windows.rank == 2 and weight.shape[3] == 1 and x.shape[3] == 1 and not padding[1]:
        # a column: as a row it is the same data, and kernels go along rows
        row, turned = x.transpose(2, 3), weight.transpose(2, 3)
        stride, padding, dilation = ([v[1], v[0]] for v in (windows.stride, padding, windows.dilation))
        return hw.conv2d(row, turned, bias, stride, padding, dilation, node.attr("group", 1)).transpose(2, 3)
    return _FORWARD[windows.rank](x, weight, bias, windows.stride, padding, windows.dilation, node.attr("group", 1))


@op("Conv")
def conv(node: Node, x: Any, weight: Any, bias: Any = None) -> Any:
    return convolve(node, x, weight, bias)


@op("ConvTranspose")
def conv_transpose(node: Node, x: Any, weight: Any, bias: Any = None) -> Any:
    rank = weight.dim() - 2
    _check_rank(rank)
    stride, dilation = node.attr("strides", [1] * rank), node.attr("dilations", [1] * rank)
    extra, group = node.attr("output_padding", [0] * rank), node.attr("group", 1)
    kernel = node.attr("kernel_shape", list(weight.shape[2:]))
    full = [s * (n - 1) + (k - 1) * d + 1 + e for s, n, k, d, e in zip(stride, x.shape[2:], kernel, dilation, extra)]
    check_size([x.shape[0], weight.shape[1] * group, *full])
    before, after = _cut(node, full, stride, list(x.shape[2:]), rank)
    transposed = _TRANSPOSED[rank]
    if before == after and all(b >= 0 for b in before) and all(e < max(s, d) for e, s, d in zip(extra, stride, dilation)):
        return transposed(x, weight, bias, stride, before, extra, group, dilation)
    made = transposed(x, weight, bias, stride, [0] * rank, [0] * rank, group, dilation)
    wanted = [-b for b in before], [e - a for e, a in zip(extra, after)]
    if bias is not None and any(w > 0 for row in wanted for w in row):  # beyond the windows there is the bias alone
        made = transposed(x, weight, None, stride, [0] * rank, [0] * rank, group, dilation)
        return pad_spatial(made, *wanted) + bias.reshape([1, -1] + [1] * rank)
    return pad_spatial(made, *wanted)


def _cut(node: Node, full: list[int], stride: list[int], sizes: list[int], rank: int) -> tuple[list[int], list[int]]:
    """What to take away before and after each axis of the full result."""
    auto, wanted = node.attr("auto_pad", "NOTSET"), node.attr("output_shape", None)
    if wanted is None and auto in ("SAME_UPPER", "SAME_LOWER"):
        wanted = [n * s for n, s in zip(sizes, stride)]
    if wanted is None:
        pads = node.attr("pads", [0] * (2 * rank)) if auto == "NOTSET" else [0] * (2 * rank)
        return pads[:rank], pads[rank:]
    totals = [f - w for f, w in zip(full, wanted[-rank:])]
    halves = [max(t, 0) // 2 for t in totals]
    rest = [t - h for t, h in zip(totals, halves)]
    if auto == "SAME_UPPER":
        return halves, rest
    return [r if t > 0 else h for t, h, r in zip(totals, halves, rest)], [h if t > 0 else r for t, h, r in zip(totals, halves, rest)]


@op("DeformConv")
def deform_conv(node: Node, x: Any, weight: Any, offset: Any, bias: Any = None, mask: Any = None) -> Any:
    """A window is gathered from where the offsets point, bilinearly, and then meets the weights in a matrix product."""
    from .sampling import bilinear

    n, c = x.shape[:2]
    windows = windows_of(node, list(x.shape[2:]), node.attr("kernel_shape", list(weight.shape[2:])))
    if windows.rank != 2:
        raise OnnxError("only deformable convolutions over two axes are supported")
    (kh, kw), groups, shared = windows.kernel, node.attr("group", 1), node.attr("offset_group", 1)
    oh, ow = offset.shape[-2:]
    offset = offset.reshape(n, shared, kh * kw, 2, oh, ow)
    rows = _grid(windows, 0, oh).reshape(kh, 1, oh, 1).expand(kh, kw, oh, ow).reshape(kh * kw, oh, ow)
    columns = _grid(windows, 1, ow).reshape(1, kw, 1, ow).expand(kh, kw, oh, ow).reshape(kh * kw, oh, ow)
    y = (rows.to(x.dtype) + offset[:, :, :, 0]).reshape(n * shared, kh * kw * oh, ow)
    z = (columns.to(x.dtype) + offset[:, :, :, 1]).reshape(n * shared, kh * kw * oh, ow)
    found = bilinear(x.reshape(n * shared, c // shared, *x.shape[2:]), y, z).reshape(n, shared, c // shared, kh * kw, oh * ow)
    if mask is not None:
        found = found * mask.reshape(n, shared, 1, kh * kw, oh * ow)
    found = found.reshape(n, groups, c // groups * kh * kw, oh * ow)
    made = hw.matmul(weight.reshape(groups, weight.shape[0] // groups, -1), found).reshape(n, weight.shape[0], oh, ow)
    return made if bias is None else made + bias.reshape(1, -1, 1, 1)


def _grid(windows: Windows, axis: int, count: int) -> Any:
    """[kernel, count]: where each element of each window lies."""
    starts = hw.arange(count) * windows.stride[axis] - windows.before[axis]
    return hw.arange(windows.kernel[axis]).unsqueeze(1) * windows.dilation[axis] + starts


@op("Col2Im", host=(1, 2))
def col2im(node: Node, x: Any, image: Any, block: Any) -> Any:
    """The transposed convolution with a kernel of ones for each element of the block."""
    sizes, kernel = [int(i) for i in image], [int(b) for b in block]
    windows = windows_of(node, sizes, kernel)
    n, elements = x.shape[0], 1
    for k in kernel:
        elements *= k
    channels = x.shape[1] // elements
    counts = [windows.count(i, s) for i, s in enumerate(sizes)]
    weight = hw.eye(elements).to(x.dtype).reshape([elements, 1, *kernel])
    if windows.rank > 3:
        raise OnnxError("Col2Im over more than 3 axes is not supported")
    made = _TRANSPOSED[windows.rank](
        x.reshape([n * channels, elements, *counts]), weight, None, windows.stride, [0] * windows.rank, [0] * windows.rank, 1,
        windows.dilation,
    )  # fmt: skip
    full = list(made.shape[2:])
    after = [s + b - f for s, b, f in zip(sizes, windows.before, full)]
    return pad_spatial(made, [-b for b in windows.before], after).reshape([n, channels, *sizes])
