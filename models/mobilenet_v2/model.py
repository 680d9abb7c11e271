"""MobileNetV2 (Sandler et al. 2018) with torchvision's parameter names."""

from __future__ import annotations

import headwater as hw
from headwater import nn

from .config import Config


def divisible(value: float, divisor: int = 8) -> int:
    """The nearest multiple of `divisor`, but not more than a tenth below `value`."""
    nearest = max(divisor, int(value + divisor / 2) // divisor * divisor)
    return nearest + divisor if nearest < 0.9 * value else nearest


class ConvNormActivation(nn.Sequential):
    """Convolution, batch normalisation, ReLU6."""

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int = 1, groups: int = 1) -> None:
        super().__init__(
            nn.Conv2d(inputs, outputs, kernel, stride, (kernel - 1) // 2, groups=groups, bias=False),
            nn.BatchNorm2d(outputs),
            nn.ReLU6(inplace=True),
        )


class InvertedResidual(nn.Module):
    """Widen by 1x1, filter each channel by 3x3, narrow by 1x1; a shortcut where the shapes allow it."""

    def __init__(self, inputs: int, outputs: int, stride: int, expansion: int) -> None:
        super().__init__()
        hidden = round(inputs * expansion)
        self.use_shortcut = stride == 1 and inputs == outputs
        layers: list[nn.Module] = []
        if expansion != 1:
            layers.append(ConvNormActivation(inputs, hidden, 1))
        layers.append(ConvNormActivation(hidden, hidden, 3, stride, groups=hidden))
        layers += [nn.Conv2d(hidden, outputs, 1, bias=False), nn.BatchNorm2d(outputs)]
        self.conv = nn.Sequential(*layers)

    def forward(self, x: hw.Tensor) -> hw.Tensor:
        return x + self.conv(x) if self.use_shortcut else self.conv(x)


class MobileNetV2(nn.Module):
    """Images (N, 3, H, W) to scores (N, classes)."""

    def __init__(self, config: Config | None = None) -> None:
        super().__init__()
        config = config or Config()
        inputs = divisible(32 * config.width_mult)
        features: list[nn.Module] = [ConvNormActivation(3, inputs, 3, stride=2)]
        for expansion, channels, depth, stride in config.stages:
            outputs = divisible(channels * config.width_mult)
            for i in range(depth):
                features.append(InvertedResidual(inputs, outputs, stride if i == 0 else 1, expansion))
                inputs = outputs
        last = divisible(1280 * max(1.0, config.width_mult))
        features.append(ConvNormActivation(inputs, last, 1))
        self.features = nn.Sequential(*features)
        self.classifier = nn.Sequential(nn.Dropout(config.dropout), nn.Linear(last, config.classes))
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out")
            elif isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, 0, 0.01)
                nn.init.zeros_(module.bias)

    def forward(self, x: hw.Tensor) -> hw.Tensor:
        x = self.features(x)
        return self.classifier(hw.flatten(nn.functional.adaptive_avg_pool2d(x, (1, 1)), 1))


def mobilenet_v2(classes: int = 1000) -> MobileNetV2:
    """MobileNetV2 of width 1: 3.5 million parameters."""
    return MobileNetV2(Config(classes=classes))
