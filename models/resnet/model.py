"""Residual networks (He et al. 2016, the stride in the 3x3 convolution) with torchvision's parameter names."""

from __future__ import annotations

import dataclasses
from typing import Any

import headwater as hw
from headwater import nn

from .config import RESNET18, RESNET34, RESNET50, Config


def _conv3x3(inputs: int, outputs: int, stride: int = 1) -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False)


class BasicBlock(nn.Module):
    """Two 3x3 convolutions beside a shortcut. (N, inputs, H, W) to (N, width, H / stride, W / stride)."""

    expansion = 1

    def __init__(self, inputs: int, width: int, stride: int, downsample: nn.Module | None) -> None:
        super().__init__()
        self.conv1 = _conv3x3(inputs, width, stride)
        self.bn1 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = _conv3x3(width, width)
        self.bn2 = nn.BatchNorm2d(width)
        self.downsample = downsample

    def forward(self, x: hw.Tensor) -> hw.Tensor:
        shortcut = x if self.downsample is None else self.downsample(x)
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        return self.relu(out + shortcut)


class Bottleneck(nn.Module):
    """1x1, 3x3 and 1x1 convolutions beside a shortcut. (N, inputs, H, W) to (N, 4 * width, H / stride, W / stride)."""

    expansion = 4

    def __init__(self, inputs: int, width: int, stride: int, downsample: nn.Module | None) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = _conv3x3(width, width, stride)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, width * self.expansion, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(width * self.expansion)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = downsample

    def forward(self, x: hw.Tensor) -> hw.Tensor:
        shortcut = x if self.downsample is None else self.downsample(x)
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        return self.relu(out + shortcut)


class ResNet(nn.Module):
    """Images (N, channels, H, W) to scores (N, classes)."""

    def __init__(self, config: Config = RESNET18) -> None:
        super().__init__()
        block = {"basic": BasicBlock, "bottleneck": Bottleneck}[config.block]
        width = config.width
        self.conv1 = nn.Conv2d(config.channels, width, 7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        inputs = width
        for stage, depth in enumerate(config.depths):
            layer, inputs = _stage(block, inputs, width << stage, depth, 1 if stage == 0 else 2)
            setattr(self, f"layer{stage + 1}", layer)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(inputs, config.classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, x: hw.Tensor) -> hw.Tensor:
        return self.head(self.layer4(self.layer3(self.layer2(self.layer1(self.stem(x))))))

    def stem(self, x: hw.Tensor) -> hw.Tensor:
        return self.maxpool(self.relu(self.bn1(self.conv1(x))))

    def head(self, x: hw.Tensor) -> hw.Tensor:
        return self.fc(hw.flatten(self.avgpool(x), 1))

    def pipeline_layers(self) -> list[Any]:
        """What hw.parallelize cuts into stages."""
        blocks = [b for layer in (self.layer1, self.layer2, self.layer3, self.layer4) for b in layer]
        return [(self.stem, [self.conv1, self.bn1]), *blocks, (self.head, [self.fc])]


def _stage(
    block: type[BasicBlock] | type[Bottleneck], inputs: int, width: int, depth: int, stride: int
) -> tuple[nn.Sequential, int]:
    """`depth` blocks of one width, the first with the stride; and the number of channels that come out."""
    outputs = width * block.expansion
    downsample = None
    if stride != 1 or inputs != outputs:
        downsample = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))
    blocks = [block(inputs, width, stride, downsample)]
    blocks += [block(outputs, width, 1, None) for _ in range(depth - 1)]
    return nn.Sequential(*blocks), outputs


def resnet18(classes: int = 1000) -> ResNet:
    """ResNet-18: 11.7 million parameters."""
    return ResNet(dataclasses.replace(RESNET18, classes=classes))


def resnet34(classes: int = 1000) -> ResNet:
    """ResNet-34: 21.8 million parameters."""
    return ResNet(dataclasses.replace(RESNET34, classes=classes))


def resnet50(classes: int = 1000) -> ResNet:
    """ResNet-50: 25.6 million parameters."""
    return ResNet(dataclasses.replace(RESNET50, classes=classes))
