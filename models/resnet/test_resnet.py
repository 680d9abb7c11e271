"""ResNets against torch: logits, gradients, running statistics, names and numbers of parameters."""

import numpy as np
import pytest

import headwater as hw
from models.resnet.config import Config
from models.resnet.model import resnet18, resnet34, resnet50


def images(count, size, channels=3):
    return np.random.default_rng(0).standard_normal((count, channels, size, size)).astype(np.float32)


@pytest.mark.parametrize("config", [Config(width=8, classes=7), Config("bottleneck", (1, 2, 1, 1), width=8, classes=7)])
def test_training_mode_agrees_with_torch(twins, config):
    net = twins("resnet", "ResNet", config)
    net.check(images(4, 64))
    for a, b in zip(net.ours.buffers(), net.theirs.buffers()):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-4, atol=1e-5)


def test_logits_of_resnet18_and_resnet50_agree_with_torch(twins):
    twins("resnet", "resnet18").eval().check(images(1, 96))
    twins("resnet", "resnet50").eval().check(images(1, 64))


@pytest.mark.parametrize("make, number", [(resnet18, 11_689_512), (resnet34, 21_797_672), (resnet50, 25_557_032)])
def test_number_of_parameters_is_torchvisions(make, number, count):
    assert count(make()) == number


@pytest.mark.parametrize("make", [resnet18, resnet50])
def test_torchvision_weights_load(make):
    torchvision = pytest.importorskip("torchvision")
    torch = pytest.importorskip("torch")
    theirs, ours = getattr(torchvision.models, make.__name__)(weights=None).eval(), make().eval()
    ours.load_state_dict({key: hw.tensor(value.numpy()) for key, value in theirs.state_dict().items()})
    x = images(2, 64)
    np.testing.assert_allclose(
        ours(hw.tensor(x)).detach().numpy(), theirs(torch.tensor(x)).detach().numpy(), rtol=1e-3, atol=1e-3
    )


@pytest.mark.slow
def test_learns_the_digits():
    pytest.importorskip("sklearn")
    from models.resnet.train import train

    hw.manual_seed(0)
    assert train(steps=60) > 0.9
