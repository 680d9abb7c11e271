"""Python objects that are not what they should be: an exception of the right class, never a crash or a hang."""

import numpy as np
import pytest
import torch

import headwater as hw

LONE = "\ud800"  # a str without a UTF-8 form


@pytest.mark.parametrize(
    "call",
    [
        lambda: hw.add(hw.ones(2), hw.ones(2), **{LONE: 1}),
        lambda: hw.zeros(2, dtype=LONE),
        lambda: hw.zeros(2, device=LONE),
        lambda: hw.ones(2).cast(LONE),
        lambda: hw.set_default_dtype(LONE),
        lambda: hw.Generator(LONE),
        lambda: hw.einsum(LONE, hw.ones(2)),
        lambda: hw.nn.functional.gelu(hw.ones(2), approximate=LONE),
    ],
)
def test_text_without_utf8(call):
    with pytest.raises((UnicodeEncodeError, TypeError)):
        call()


def test_lists_without_end():
    ring = []
    ring.append(ring)
    for call in (hw.tensor, hw.Tensor, lambda v: hw.ones(3)[v]):
        with pytest.raises(ValueError, match="nested more than 32 deep"):
            call(ring)
    deep = [1.0]
    for _ in range(40):
        deep = [deep]
    with pytest.raises(ValueError, match="nested more than 32 deep"):
        hw.tensor(deep)


def test_what_numpy_raises_keeps_its_class():
    with pytest.raises(ValueError, match="has 2 elements, the first list"):
        hw.Tensor([[1.0], [2.0, 3.0]])
    with pytest.raises(TypeError):
        hw.Generator().set_state(("a", 2))
    with pytest.raises(TypeError, match="NoneType"):
        hw.tensor(None)


@pytest.mark.parametrize("name", ["numpy", "__dlpack__", "tolist", "__repr__"])
def test_methods_called_on_something_else(name):
    with pytest.raises((TypeError, AttributeError)):
        getattr(hw.Tensor, name)(5)


def test_hooks_on_something_else():
    for name in ("register_hook", "register_post_accumulate_grad_hook"):
        with pytest.raises(TypeError, match="expected a Tensor, got int"):
            getattr(hw.Tensor, name)(5, print)


def test_more_axes_than_there_may_be():
    for call in (
        lambda: hw.zeros([1] * 33),
        lambda: hw.zeros([1] * 100_000),
        lambda: hw.ones([1] * 32).unsqueeze(0),
        lambda: hw.ones([1] * 32)[None],
        lambda: hw.ones(1).expand([1] * 40),
        lambda: hw.from_numpy(np.ones([1] * 40)),
    ):
        with pytest.raises(ValueError, match="at most 32 axes"):
            call()
    assert hw.zeros([1] * 32).numpy().shape == (1,) * 32


def test_dlpack_of_what_cannot_be_shared():
    with pytest.raises(TypeError, match="no counterpart"):
        hw.from_dlpack(torch.zeros(4, dtype=torch.complex32))
    for t in (torch.ones(2, requires_grad=True), torch.tensor([1 + 2j]).conj()):
        with pytest.raises((RuntimeError, BufferError)):
            hw.from_dlpack(t)
    array = np.ones(3)
    array.flags.writeable = False
    with pytest.raises(RuntimeError, match="read-only"):
        hw.from_dlpack(array).add_(1)
    assert array.tolist() == [1, 1, 1]


def test_shared_memory_outlives_another_storage():
    x = hw.ones(1 << 20)
    array, other = x.numpy(), torch.from_dlpack(x)
    x.data = hw.zeros(3)
    hw.memory.empty_cache()
    filled = [hw.full((1 << 20,), 7.0) for _ in range(4)]
    assert array[0] == 1 and other[-1] == 1 and len(filled) == 4


def test_repeats_beyond_64_bits():
    for n in (3, 4):
        with pytest.raises(RuntimeError, match="repeats|total"):
            hw.ones(n).repeat_interleave(hw.tensor([2**62] * n))


def test_sizes_of_joined_tensors_beyond_64_bits():
    with pytest.raises(ValueError, match="exceeds"):
        hw.cat([hw.ones(1).expand(2**62)] * 4)


def test_a_tensor_is_asked_for_what_it_cannot_contain():
    assert 2 in hw.arange(3) and hw.tensor(2) in hw.arange(3)
    with pytest.raises(RuntimeError, match="got str"):
        "a" in hw.arange(3)  # noqa: B015
    with pytest.raises(TypeError, match="got int"):
        hw.ones(2).to(5)


def test_an_object_that_dies_may_ask_for_its_tensor():
    x = hw.ones(2, requires_grad=True)
    y, seen = x * 2, []
    x.register_post_accumulate_grad_hook(lambda t: seen.append(t.sum().item()))

    class Late:
        def __del__(self):
            y.sum().backward()

    x.late = Late()
    del x
    assert seen == [2.0]
    assert y.tolist() == [2, 2]


def test_masks_in_index_put():
    x = hw.zeros(3)
    with pytest.raises(IndexError, match="mask has shape"):
        hw.index_put(x, [hw.tensor([True, False])], hw.ones(1))
    with pytest.raises(TypeError):
        hw.index_put(x, [5], hw.ones(1))
    with pytest.raises(TypeError):
        hw.index_put(x, 5, hw.ones(1))
    assert hw.index_put(x, [hw.tensor([True, False, True])], hw.ones(2)).tolist() == [1, 0, 1]
