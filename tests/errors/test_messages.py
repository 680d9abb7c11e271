"""The exact messages of the most common mistakes: op and arguments, what differs, what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import headwater as hw


def x() -> Any:
    return hw.tensor([[1.0, 2.0], [3.0, 4.0]])


def leaf() -> Any:
    return hw.tensor([1.0, 2.0], requires_grad=True)


def ones() -> Any:
    return hw.tensor([1.0, 1.0])


def backward_twice() -> None:
    a = leaf()
    y = a * a
    for _ in range(2):
        hw.autograd.grad([y], [a], [ones()])


def changed_in_place() -> None:
    a = leaf()
    b = a * 1
    y = b * b
    b.add_(1)
    hw.autograd.grad([y], [a], [ones()])


SHAPES: list[tuple[Callable, type, str]] = [
    (lambda: hw.add(hw.tensor([1, 2]), hw.tensor([1, 2, 3])), RuntimeError,
     "add(input=i64[2], other=i64[3]): shapes [2] and [3] do not broadcast: sizes 2 and 3 differ at axis 0. "
     "Sizes must be equal, or one of them 1."),
    (lambda: x() + hw.tensor([1.0, 2.0, 3.0]), RuntimeError,
     "add(input=f32[2, 2], other=f32[3]): shapes [2, 2] and [3] do not broadcast: sizes 2 and 3 differ at axis 1. "
     "Sizes must be equal, or one of them 1."),
    (lambda: x().view((3,)), RuntimeError, "view(input=f32[2, 2], shape=[3]): shape [3] has 3 elements, the input 4 ([2, 2])"),
    (lambda: x().view(-1, -1), RuntimeError, "view(input=f32[2, 2], shape=[-1, -1]): only one size can be -1, got [-1, -1]"),
    (lambda: x().expand(3, 3), RuntimeError,
     "expand(input=f32[2, 2], size=[3, 3]): size 3 at axis 0 of [3, 3] does not match size 2 of the input: only axes of size 1 "
     "can be expanded"),
    (lambda: hw.cat([]), RuntimeError, "cat(): the list of tensors is empty"),
    (lambda: hw.cat([x(), hw.tensor([1.0])]), RuntimeError,
     "cat(tensors[0]=f32[2, 2], tensors[1]=f32[1]): tensors[1] is f32[1], but f32[2, 2] has 2 axes"),
    (lambda: hw.cat(x()), TypeError, "cat(): argument 'tensors' must be a list or tuple of tensors, got headwater.Tensor"),
    (lambda: x().copy_(hw.tensor([1.0, 2.0, 3.0])), RuntimeError,
     "copy_(input=f32[2, 2], other=f32[3]): shapes [2, 2] and [3] do not broadcast: sizes 2 and 3 differ at axis 1. "
     "Sizes must be equal, or one of them 1."),
    (lambda: x().narrow(0, 1, 5), RuntimeError,
     "narrow(input=f32[2, 2], dim=0, start=1, length=5): start 1 + length 5 exceeds size 2 of axis 0"),
]

AXES: list[tuple[Callable, type, str]] = [
    (lambda: x().transpose(0, 5), IndexError,
     "transpose(input=f32[2, 2], dim0=0, dim1=5): axis 5 is out of range for 2 dimensions: expected one in [-2, 1]"),
    (lambda: hw.sum(x(), dim=5), IndexError, "sum(input=f32[2, 2], dim=[5]): axis 5 is out of range for 2 dimensions: expected one in [-2, 1]"),
    (lambda: hw.sum(x(), dim=(0, 0)), RuntimeError, "sum(input=f32[2, 2], dim=[0, 0]): axis 0 appears twice in [0, 0]"),
    (lambda: hw.sum(x(), dim="a"), TypeError, "sum(): dim must be an int, got str"),
    (lambda: x().permute(0), RuntimeError, "permute(input=f32[2, 2], dims=[0]): dims [0] names 1 axes, the input has 2"),
    (lambda: x()[5], IndexError, "index 5 is out of range for axis 0 with size 2 of f32[2, 2]"),
    (lambda: x()[0, 0, 0], IndexError, "too many indices for f32[2, 2]: got 3"),
]

DTYPES: list[tuple[Callable, type, str]] = [
    (lambda: hw.bitwise_and(x(), x()), TypeError,
     "bitwise_and(input=f32[2, 2], other=f32[2, 2]): 'input' must have an integer dtype or bool, got f32. Convert it with .to()."),
    (lambda: hw.tensor([1, 2]).add_(1.5), RuntimeError,
     "add(input=i64[2], other=f64[]): the result is f32, which cannot be stored in i64[2] without loss of kind"),
    (lambda: hw.pow(hw.tensor([2]), -1), RuntimeError,
     "pow(input=i64[1], exponent=i64[]): integers cannot be raised to the negative power -1; convert the input to a floating dtype"),
    (lambda: hw.tensor([1]) // 0, RuntimeError, "floor_divide(input=i64[1], other=i64[]): ZeroDivisionError: an integer is divided by zero"),
    (lambda: hw.tensor([1, 2], requires_grad=True), RuntimeError,
     "only floating-point and complex tensors can require gradients, got i64[2]"),
    (lambda: hw.tensor("a"), TypeError, "a tensor cannot be made of str"),
    (lambda: hw.tensor(2**70), OverflowError, "the integer 1180591620717411303424 does not fit in 64 bits. Give a float."),
]

ARGUMENTS: list[tuple[Callable, type, str]] = [
    (lambda: hw.exp("a"), TypeError, "exp(): argument 'input' must be a Tensor, got str"),
    (lambda: hw.exp([1, 2]), TypeError, "exp(): argument 'input' must be a Tensor, got list. Make one with headwater.tensor(...)."),
    (lambda: hw.exp(), TypeError, "exp(): missing argument 'input'"),
    (lambda: hw.exp(x(), 3), TypeError, "exp() takes 1 positional arguments but 2 were given; its signature is exp(input)"),
    (lambda: hw.exp(x(), foo=3), TypeError, "exp() got an unexpected keyword argument 'foo'; its signature is exp(input)"),
    (lambda: x() + "a", TypeError, "unsupported operand type(s) for +: 'headwater.Tensor' and 'str'"),
    (lambda: hw.clamp(x()), ValueError, "clamp(input=f32[2, 2]): at least one of min and max must be given"),
    (lambda: hw.gelu(x(), approximate="fast"), ValueError,
     "gelu(input=f32[2, 2], approximate='fast'): approximate must be 'none' or 'tanh', got 'fast'"),
    (lambda: bool(x()), RuntimeError,
     "the truth value of a tensor with 4 elements (f32[2, 2]) is ambiguous; use .any() or .all()"),
    (lambda: x().item(), RuntimeError, "item: a tensor of shape [2, 2] has 4 elements; only one element converts to a Python number"),
    (lambda: hw.tensor([1.0], device="cuda"), RuntimeError, "device 'cuda' is not available: this build has the device 'cpu' only"),
    (lambda: x().to("tpu:9"), RuntimeError, "device 'tpu:9' is not available: this build has the device 'cpu' only"),
]

AUTOGRAD: list[tuple[Callable, type, str]] = [
    (backward_twice, RuntimeError,
     "the graph behind mul was already used for a backward pass and freed; pass retain_graph=True the first time"),
    (changed_in_place, RuntimeError,
     "the gradient of mul needs 'input' (f32[2]), which was changed in place since: it is at version 1, saved at version 0. "
     "Use the out-of-place form of the later operation, or clone() the tensor before it."),
    (lambda: leaf().add_(1), RuntimeError,
     "add_: a leaf that requires gradients cannot be changed in place; do it under hw.no_grad()"),
    (lambda: (leaf() * 2).backward(), RuntimeError,
     "backward: a gradient is made up for a single element only, but the root is f32[2]; reduce it first (loss.mean()), "
     "or pass gradient="),
    (lambda: ones().backward(), RuntimeError, "root 0 does not require gradients and has no history: nothing to differentiate"),
    (lambda: leaf().numpy(), RuntimeError, "numpy(): the tensor requires gradients; use detach().numpy()"),
]


@pytest.mark.parametrize(("call", "exception", "message"), SHAPES + AXES + DTYPES + ARGUMENTS + AUTOGRAD)
def test_message(call: Callable, exception: type, message: str) -> None:
    with pytest.raises(exception) as caught:
        call()
    assert type(caught.value) is exception
    assert str(caught.value) == message


def test_in_place_names_end_with_one_underscore():
    with pytest.raises(TypeError, match=r"^copy_\(\): argument 'other'"):
        ones().copy_("x")
    with pytest.raises(TypeError, match=r"^add_\(\): argument 'other'"):
        ones().add_("x")
    assert repr(hw.Tensor.copy_) == "<headwater op copy_>" and repr(hw.Tensor.add_) == "<headwater op add_>"


def test_tensor_split_names_itself() -> None:
    for indices in ([None], ["a"]):
        with pytest.raises(TypeError, match=r"tensor_split\(\): the indices must be ints"):
            hw.tensor_split(hw.zeros(3), indices)


def test_a_room_that_does_not_exist_is_an_attribute_error() -> None:
    assert not hasattr(hw, "no_such_room")
