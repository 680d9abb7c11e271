"""Preprocessing inside of a frozen model: equal to the same done by hand, and mistakes have words."""

import json

import numpy as np
import pytest

import headwater as hw
from headwater import nn
from headwater.infer import Preprocess
from headwater.infer.prune import prune

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def network(channels=3):
    hw.manual_seed(0)
    layers = [nn.Conv2d(channels, 8, 3, stride=2, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    return nn.Sequential(*layers, nn.Linear(8, 5)).eval()


def pixels(*shape):
    return np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)


def by_hand(image, size=None, crop=None, order=None):
    """N H W C bytes with NumPy, resized by torch's rule for bilinear sampling."""
    x = image.astype(np.float64)
    if size is not None:
        x = resized(resized(x, 1, size[0]), 2, size[1])
    if crop is not None:
        top, left = (x.shape[1] - crop[0]) // 2, (x.shape[2] - crop[1]) // 2
        x = x[:, top : top + crop[0], left : left + crop[1]]
    if order is not None:
        x = x[..., list(order)]
    return ((x / 255 - np.array(MEAN)) / np.array(STD)).transpose(0, 3, 1, 2)


def resized(x, axis, size):
    have = x.shape[axis]
    at = np.maximum((np.arange(size) + 0.5) * have / size - 0.5, 0)
    low = np.floor(at).astype(int)
    high = np.minimum(low + 1, have - 1)
    part = (at - low).reshape([-1 if a == axis else 1 for a in range(x.ndim)])
    return np.take(x, low, axis) * (1 - part) + np.take(x, high, axis) * part


CASES = {
    "normalise": ({}, {}),
    "crop": ({"crop": 24}, {"crop": (24, 24)}),
    "resize and crop": ({"resize": (40, 36), "crop": (32, 30)}, {"size": (40, 36), "crop": (32, 30)}),
    "bgr": ({"channels": (2, 1, 0)}, {"order": (2, 1, 0)}),
    "gray as three": ({"channels": (1, 1, 1), "resize": 20}, {"order": (1, 1, 1), "size": (20, 20)}),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
def test_frozen_with_pixels_is_what_is_done_by_hand(case, layout, tmp_path):
    options, hand = CASES[case]
    model, image = network(), pixels(2, 33, 31, 3)
    step = Preprocess(layout=layout, mean=MEAN, std=STD, **options)
    x = hw.from_numpy(image if layout == "NHWC" else np.ascontiguousarray(image.transpose(0, 3, 1, 2)))
    want = by_hand(image, **hand)
    np.testing.assert_allclose(step(x).numpy(), want, rtol=1e-5, atol=1e-5)
    hw.freeze(model, x, tmp_path / "m.hwm", preprocess=step)
    frozen = hw.infer.load(tmp_path / "m.hwm")
    assert frozen.inputs == ["input"] and frozen.forms[0]["inputs"][0][0] == hw.uint8
    assert frozen.check() <= 1e-5
    with hw.no_grad():
        np.testing.assert_allclose(frozen(x).numpy(), model(hw.tensor(want.astype(np.float32))).numpy(), rtol=1e-4, atol=1e-5)
    note = frozen.notes["preprocess"]
    assert note.startswith("input: ") and json.loads(note.removeprefix("input: "))["mean"] == list(MEAN)


def test_equal_to_the_same_operators_in_front(tmp_path):
    """Bit for bit: nothing but operators is added."""
    model, step = network(), Preprocess(resize=24, mean=MEAN, std=STD, channels=(2, 1, 0))
    x = hw.from_numpy(pixels(1, 20, 28, 3))

    def together(x):
        return model(step(x))

    a, b = hw.freeze(model, x, preprocess=step), hw.freeze(together, x)
    assert hw.infer.load(a)(x).equal(hw.infer.load(b)(x))


def test_box_single_image_and_named_inputs():
    class Two(nn.Module):
        def forward(self, weight, image, other):
            return (image * weight).sum() + other.mean()

    image, gray = hw.from_numpy(pixels(10, 12, 3)), hw.from_numpy(pixels(1, 1, 6, 6))
    steps = {"image": Preprocess(box=(1, 2, 8, 9), divide=1), "other": Preprocess("NCHW", mean=0.5, std=2.0)}
    data = hw.freeze(Two(), (hw.tensor(2.0), image, gray), preprocess=steps)
    frozen = hw.infer.load(data)
    want = 2 * image.numpy()[1:9, 2:11].astype(np.float64).sum() + ((gray.numpy() / 255 - 0.5) / 2).mean()
    assert frozen.inputs == ["weight", "image", "other"]
    assert abs(frozen(hw.tensor(2.0), image, gray).item() - want) < 1e-5 * want
    assert len(frozen.notes["preprocess"].splitlines()) == 2


def test_two_sizes_and_a_pruned_project(tmp_path):
    model, step = network(), Preprocess(resize=(16, 16), mean=MEAN, std=STD)
    sizes = [hw.from_numpy(pixels(1, 20, 28, 3)), hw.from_numpy(pixels(1, 64, 48, 3))]
    hw.freeze(model, sizes, tmp_path / "m.hwm", preprocess=step)
    frozen = hw.infer.load(tmp_path / "m.hwm")
    for x in sizes:
        with hw.no_grad():
            assert (frozen(x) - model(step(x))).abs().max().item() < 1e-5
    assert 1 in prune([tmp_path / "m.hwm"], tmp_path / "out").dtypes  # bytes


def test_mistakes_have_words():
    model, x = network(), hw.zeros(1, 16, 16, 3, dtype=hw.uint8)
    for options, words in [
        ({"layout": "HWC"}, "layout is one of NHWC, NCHW"),
        ({"mode": "cubic"}, "mode is one of"),
        ({"mode": "nearest", "antialias": True}, "not for nearest"),
        ({"resize": (1, 2, 3)}, "resize is a height and a width"),
        ({"crop": 0}, "crop is a height and a width"),
        ({"box": (0, 0, 0, 4)}, "box is"),
        ({"channels": ()}, "channels are"),
        ({"std": (1, 0, 1)}, "not 0"),
    ]:
        with pytest.raises(ValueError, match=words):
            Preprocess(**options)
    for step, given, words in [
        (Preprocess(crop=20), x, "20x20 pixels at .* do not lie in an image of 16x16"),
        (Preprocess(channels=(3,)), x, "is the layout NHWC"),
        (Preprocess(mean=(1.0, 2.0)), x, "mean has 2 numbers for 3 channels"),
        (Preprocess(), x.float(), "pixels are uint8"),
        (Preprocess(), x[0, 0], "pixels are NHWC or HWC"),
        ({"image": Preprocess()}, x, "no parameter 'image'; it has input"),
    ]:
        with pytest.raises(ValueError, match=words):
            hw.freeze(model, given, preprocess=step)
    with pytest.raises(TypeError, match=r"is a hw.infer.Preprocess, got dict"):
        hw.freeze(model, x, preprocess={"input": {}})
