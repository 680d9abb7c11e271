"""A layer with the batch normalisation after it folded in gives what the two give."""

import numpy as np
import pytest

import headwater as hw
from headwater import nn

PAIRS = [(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), (2, 3, 6, 6), False),
         (nn.Conv1d(4, 6, 2, groups=2, bias=False), nn.BatchNorm1d(6), (2, 4, 5), False),
         (nn.ConvTranspose2d(3, 5, 2), nn.BatchNorm2d(5), (1, 3, 4, 4), True),
         (nn.Conv2d(2, 3, 1), nn.BatchNorm2d(3, affine=False), (2, 2, 3, 3), False),
         (nn.Linear(5, 4), nn.BatchNorm1d(4), (3, 5), False)]


@pytest.mark.parametrize(("layer", "bn", "shape", "transpose"), PAIRS, ids=lambda v: type(v).__name__)
def test_fused_is_equal(layer, bn, shape, transpose):
    hw.manual_seed(0)
    bn.running_mean.normal_()
    bn.running_var.uniform_(0.5, 2.0)
    if bn.weight is not None:
        with hw.no_grad():
            bn.weight.normal_()
            bn.bias.normal_()
    layer.eval(), bn.eval()
    fuse = nn.utils.fuse_linear_bn_eval if isinstance(layer, nn.Linear) else nn.utils.fuse_conv_bn_eval
    fused = fuse(layer, bn, transpose) if transpose else fuse(layer, bn)
    x = hw.randn(*shape)
    want = bn(layer(x)).detach().numpy()
    np.testing.assert_allclose(fused(x).detach().numpy(), want, rtol=1e-4, atol=1e-5)
    assert fused is not layer and type(fused) is type(layer) and fused.weight.is_leaf and fused.weight.requires_grad
    assert np.abs(layer(x).detach().numpy() - want).max() > 1e-2


def test_training_modules_are_refused():
    with pytest.raises(RuntimeError, match="must be in eval mode"):
        nn.utils.fuse_conv_bn_eval(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4).eval())
    with pytest.raises(RuntimeError, match="keeps no running statistics"):
        nn.utils.fuse_conv_bn_eval(nn.Conv2d(3, 4, 3).eval(), nn.BatchNorm2d(4, track_running_stats=False).eval())
