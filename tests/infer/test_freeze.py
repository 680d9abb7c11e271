"""`hw.freeze` and `hw.infer.load`: frozen = compiled = eager, names, shapes, weights, and what cannot be frozen."""

import dataclasses
import os

import numpy as np
import pytest

import headwater as hw
from models.bert.config import TINY as BERT
from models.bert.model import BertModel
from models.dlrm.config import TINY as DLRM_TINY
from models.dlrm.model import DLRM
from models.gpt2.config import TINY as GPT2
from models.gpt2.model import GPT2LMHeadModel
from models.lstm.config import TINY as LSTM
from models.lstm.model import LSTMModel
from models.mlp.config import Config as MLPConfig
from models.mlp.model import MLP
from models.mobilenet_v2.config import Config as MobileConfig
from models.mobilenet_v2.model import MobileNetV2
from models.resnet.config import Config as ResNetConfig
from models.resnet.model import ResNet

RNG = np.random.default_rng(0)


def images(size, channels=3):
    return hw.tensor(RNG.standard_normal((2, channels, size, size)).astype(np.float32))


def ids(*shape, most=50):
    return hw.tensor(RNG.integers(0, most, shape))


MODELS = {
    "mlp": lambda: (MLP(MLPConfig(64, (32,), 10)), (images(8, 1),)),
    "resnet": lambda: (ResNet(ResNetConfig(width=8, classes=7)), (images(64),)),
    "bottleneck": lambda: (ResNet(ResNetConfig("bottleneck", (1, 1, 1, 1), width=8, classes=7)), (images(64),)),
    "mobilenet_v2": lambda: (MobileNetV2(MobileConfig(0.5, 7, 0.2, ((1, 16, 1, 1), (6, 24, 2, 2)))), (images(48),)),
    "bert": lambda: (BertModel(dataclasses.replace(BERT)), (ids(2, 12), hw.ones(2, 12, dtype=hw.int64))),
    "gpt2": lambda: (GPT2LMHeadModel(GPT2), (ids(2, 12),)),
    "lstm": lambda: (LSTMModel(LSTM), (ids(9, 2),)),
    "dlrm": lambda: (DLRM(DLRM_TINY), (hw.tensor(RNG.standard_normal((6, 4)).astype(np.float32)), hw.stack([ids(6, 1, most=20)] * 3))),
}


def tensors(result):
    if isinstance(result, hw.Tensor):
        return [result]
    values = result.values() if isinstance(result, dict) else result
    return [t for value in values if value is not None for t in tensors(value)]


@pytest.mark.parametrize("name", MODELS)
def test_every_model_frozen_is_compiled_is_eager(name, tmp_path):
    hw.manual_seed(0)
    model, inputs = MODELS[name]()
    model.train()
    path = tmp_path / "model.hwm"
    hw.freeze(model, inputs, path)
    assert model.training
    model.eval()
    frozen = hw.infer.load(path)
    have = tensors(frozen(*inputs))
    with hw.no_grad():
        eager, compiled = tensors(model(*inputs)), tensors(hw.compile(model)(*inputs))
    assert len(have) == len(eager)
    for a, b, c in zip(have, compiled, eager, strict=True):
        assert a.equal(b), "frozen differs from compiled"
        np.testing.assert_allclose(a.numpy(), c.numpy(), rtol=1e-3, atol=1e-3 * abs(c.numpy()).max())
    assert frozen.check() < 1e-4


def net():
    hw.manual_seed(0)
    return hw.nn.Sequential(hw.nn.Linear(128, 128), hw.nn.GELU(), hw.nn.Linear(128, 64))


def test_weights_are_shared_by_shapes_and_packed_or_not(tmp_path):
    model, x = net(), hw.randn(4, 128)
    one = hw.infer.load(hw.freeze(model, x))
    three = hw.infer.load(hw.freeze(model, [x, hw.randn(2, 128), hw.randn(1, 128)]))
    assert three.weight_bytes == one.weight_bytes
    plain = hw.infer.load(hw.freeze(model, x, packed=False))
    assert plain.weight_bytes == sum(p.numel() * 4 for p in model.parameters())
    assert plain(x).equal(one(x)) and one(x).equal(three(x))
    names = {name for name, _ in model.named_parameters()}
    assert len(names) == 4


def test_a_shape_that_is_not_there_is_an_error_that_lists_those_that_are():
    frozen = hw.infer.load(hw.freeze(net(), [hw.ones(4, 128), hw.ones(2, 128)], name="small"))
    assert frozen(hw.ones(2, 128)).shape == (2, 64)
    with pytest.raises(ValueError, match=r"small has no plan for input f32\[3, 128\]. It has plans for input f32\[4, 128\]; or"):
        frozen(hw.ones(3, 128))
    with pytest.raises(ValueError, match="no plan for input f64"):
        frozen(hw.ones(2, 128, dtype=hw.float64))


def test_names_come_from_the_signature_and_the_returned_tree():
    class Two(hw.nn.Module):
        def forward(self, image, state, scale=2.0):
            return {"sum": image + state[0], "parts": (image * scale, state[1])}

    x = hw.tensor([1.0, 2.0])
    frozen = hw.infer.load(hw.freeze(Two(), {"image": x, "state": (x + 1, x + 2), "scale": 3.0}))
    assert frozen.inputs == ["image", "state.0", "state.1"]
    assert frozen.outputs == ["sum", "parts.0", "parts.1"]
    out = frozen.run({"state.1": x, "image": np.array([5.0, 6.0], np.float32), "state.0": x})
    assert out["sum"].tolist() == [6, 8] and out["parts.0"].tolist() == [15, 18] and out["parts.1"].tolist() == [1, 2]
    with pytest.raises(TypeError, match="needs its input 'state.1'"):
        frozen(x, x)
    with pytest.raises(TypeError, match="no input 'other'"):
        frozen(x, x, other=x)
    named = hw.infer.load(hw.freeze(Two(), (x, (x, x)), output_names=["a", "b", "c"]))
    assert named.outputs == ["a", "b", "c"]


def test_outputs_that_are_views_are_copies():
    w = hw.nn.Parameter(hw.ones(3))

    def views(x):
        y = x * 2
        return x, y, y.reshape(3, 1), w, x[1:], y.reshape(1, 3).t()

    x = hw.tensor([1.0, 2.0, 3.0])
    out = hw.infer.load(hw.freeze(views, x))(x)
    assert [t.tolist() for t in out] == [[1, 2, 3], [2, 4, 6], [[2], [4], [6]], [1, 1, 1], [2, 3], [[2], [4], [6]]]
    out[0].zero_()
    assert x.tolist() == [1, 2, 3]


def test_what_cannot_be_frozen_says_why():
    counter = hw.zeros(1)

    def counts(x):
        counter.add_(1)
        return x + counter

    def draws(x):
        return x + hw.rand(2)

    def looks(x):
        return x if x.sum().item() > 0 else -x

    for function, words in ((counts, "changes its state"), (draws, "random numbers"), (looks, "item")):
        with pytest.raises(hw.FreezeError, match=words):
            hw.freeze(function, hw.ones(2))
    with pytest.raises(ValueError, match="example inputs"):
        hw.freeze(counts, [])


def test_notes_tests_and_a_session_for_each_thread():
    model, x = net(), hw.randn(2, 128)
    frozen = hw.infer.load(hw.freeze(model, x, notes={"labels": "a b"}, tests=False))
    assert frozen.notes == {"labels": "a b"} and frozen.test_inputs() == []
    with pytest.raises(ValueError, match="has no test inputs"):
        frozen.check()
    memory = hw.infer.Memory()
    other = frozen.session(memory)
    assert other(x).equal(frozen(x)) and memory.bytes > 0
    steps = frozen.step_times(x)
    assert steps and all(s.nanoseconds >= 0 and s.kernel for s in steps)


def test_index_errors_of_the_data_reach_python():
    frozen = hw.infer.load(hw.freeze(hw.nn.Embedding(10, 4), ids(3, most=9)))
    with pytest.raises(IndexError, match="embedding|index"):
        frozen(hw.tensor([1, 2, 99]))


def test_damaged_files_are_refused(tmp_path):
    data = hw.freeze(net(), hw.ones(1, 128))
    for bad in (b"", data[:100], data[:-64], data + b"x" * 64, b"HWMODL\r\n" + data[8:200], data[:300] + b"\xff" + data[301:]):
        with pytest.raises(ValueError):
            hw.infer.load(bad)
    path = tmp_path / "model.hwm"
    path.write_bytes(data[:-1])
    with pytest.raises(ValueError, match=r"model.hwm: .*cut off"):
        hw.infer.load(path)
    with pytest.raises(RuntimeError, match="cannot read"):
        hw.infer.load(tmp_path / "none.hwm")
    flipped = bytearray(data)
    flipped[-100] ^= 1
    with pytest.raises(ValueError, match="weights"):
        hw.infer.load(bytes(flipped)).check()


def test_writing_is_all_or_nothing(tmp_path):
    with pytest.raises(RuntimeError, match="cannot write"):
        hw.freeze(net(), hw.ones(1, 128), tmp_path / "no" / "folder.hwm")
    hw.freeze(net(), hw.ones(1, 128), tmp_path / "a.hwm")
    assert os.listdir(tmp_path) == ["a.hwm"]


def test_a_session_has_its_own_threads_and_cores() -> None:

    hw.manual_seed(0)
    net = hw.nn.Sequential(hw.nn.Linear(64, 256), hw.nn.ReLU(), hw.nn.Linear(256, 8)).eval()
    x = hw.randn(32, 64)
    model = hw.infer.load(hw.freeze(net, x))
    want, usable = model(x), os.sched_getaffinity(0)
    for threads, cores in ((1, []), (2, sorted(usable)[:1]), (0, [])):
        model.team(threads, cores)
        np.testing.assert_allclose(model(x).numpy(), want.numpy(), rtol=1e-5, atol=1e-6)
        assert os.sched_getaffinity(0) == usable
    with pytest.raises(ValueError, match="core 99999 is none that this process may use"):
        model.team(1, [99999])
    with pytest.raises(ValueError, match="0 to 1024 threads, got 5000"):
        model.team(5000)


def test_outputs_that_are_parts_of_larger_results():
    """A copy of a part stays a copy, so that the caller's buffer holds the part alone."""
    x = hw.rand(5)
    for function in (lambda x: hw.sort(x)[0].narrow(0, 0, 3), lambda x: (x + 1).narrow(0, 2, 3), lambda x: (x + 1).narrow(0, 0, 3).clone()):
        assert hw.infer.load(hw.freeze(function, x))(x).equal(function(x))
