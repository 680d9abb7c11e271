"""The 3x3 convolutions of ResNet-50 at batch 1: packed Winograd against direct convolution (oneDNN) and torch, and the machine's peak.

Effective GFLOP/s count the multiplications of direct convolution. `--cold` turns among so many weights that they come from memory.

    python benchmarks/winograd.py --threads 1
"""

from __future__ import annotations

import argparse

import numpy as np
import torch

import headwater as hw
from paired import compare, seconds

LAYERS = {"64@56": (64, 56), "128@28": (128, 28), "256@14": (256, 14), "512@7": (512, 7)}


def candidates(channels: int, size: int, batch: int, copies: int) -> dict:
    r = np.random.default_rng(0)
    x = r.standard_normal((batch, channels, size, size), dtype=np.float32)
    ws = [r.standard_normal((channels, channels, 3, 3), dtype=np.float32) * 0.05 for _ in range(copies)]
    tx, hx = torch.from_numpy(x), hw.tensor(x)
    tw, hws = [torch.from_numpy(w) for w in ws], [hw.tensor(w) for w in ws]
    turn = iter(range(1 << 60))

    def torch_conv() -> object:
        with torch.inference_mode():
            return torch.nn.functional.conv2d(tx, tw[next(turn) % copies], padding=1)

    def direct() -> object:
        return hw._C.run_op("convolution", [hx, hws[next(turn) % copies], None], {"padding": (1, 1)})

    made = {"direct": direct, "torch": torch_conv}
    for tile in (2, 4):
        packed = [hw._C.run_op("_winograd_pack_weight", [w], {"tile": tile})[0] for w in hws]
        for block in (1, 16):
            image = hx if block == 1 else hw.tensor(np.ascontiguousarray(x.reshape(batch, -1, 16, size, size).transpose(0, 1, 3, 4, 2)))

            def winograd(tile: int = tile, packed: list = packed, image: object = image) -> object:
                attributes = {"out_channels": channels, "tile": tile, "padding": (1, 1)}
                return hw._C.run_op("_conv2d_winograd", [image, packed[next(turn) % copies], None], attributes)

            made[f"F({tile}x{tile}) {'NCHW' if block == 1 else 'NCHW16c'}"] = winograd
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--cold", type=int, default=1, metavar="COPIES")
    parser.add_argument("--layers", nargs="*", default=list(LAYERS))
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    hw.set_num_threads(options.threads)
    for name in options.layers:
        channels, size = LAYERS[name]
        flops = 2 * options.batch * channels * channels * 9 * size * size
        for result in compare(candidates(channels, size, options.batch, options.cold), rounds=options.rounds, turn=0.03, most_foreign=1.0):
            low, high = 1 / result.quartiles[1], 1 / result.quartiles[0]
            print(f"{name:7} {result.name:16} {seconds(result.median):>9} (fastest {seconds(result.fastest):>9})  {flops / result.median / 1e9:4.0f} GFLOP/s effective"
                  f"  {1 / result.ratio:.2f}x of direct ({low:.2f} to {high:.2f})", flush=True)


if __name__ == "__main__":
    main()
