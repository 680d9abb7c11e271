"""MobileNetV2 against torch: logits, gradients, names and numbers of parameters."""

import numpy as np
import pytest

import headwater as hw
from models.mobilenet_v2.config import Config
from models.mobilenet_v2.model import divisible, mobilenet_v2


def images(count, size):
    return np.random.default_rng(0).standard_normal((count, 3, size, size)).astype(np.float32)


def test_training_mode_agrees_with_torch(twins):
    stages = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 2, 2))
    twins("mobilenet_v2", "MobileNetV2", Config(0.5, 7, 0.0, stages)).check(images(4, 48))


def test_logits_agree_with_torch(twins):
    twins("mobilenet_v2", "mobilenet_v2").eval().check(images(1, 96))


def test_number_of_parameters_is_torchvisions(count):
    assert count(mobilenet_v2()) == 3_504_872
    assert [divisible(v) for v in (16, 12, 40.2, 1)] == [16, 16, 40, 8]


def test_torchvision_weights_load():
    torchvision = pytest.importorskip("torchvision")
    torch = pytest.importorskip("torch")
    theirs, ours = torchvision.models.mobilenet_v2(weights=None).eval(), mobilenet_v2().eval()
    ours.load_state_dict({key: hw.tensor(value.numpy()) for key, value in theirs.state_dict().items()})
    x = images(2, 64)
    np.testing.assert_allclose(
        ours(hw.tensor(x)).detach().numpy(), theirs(torch.tensor(x)).detach().numpy(), rtol=1e-3, atol=1e-4
    )


@pytest.mark.slow
def test_learns_the_digits():
    pytest.importorskip("sklearn")
    from models.mobilenet_v2.train import train

    hw.manual_seed(0)
    assert train(steps=120) > 0.9
