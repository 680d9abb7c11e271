"""libFuzzer's entry to the reader of safetensors files, by Atheris: tensors or a FormatError, nothing else."""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports(include=["headwater.safetensors_file"]):
    import headwater.safetensors_file as safetensors


def one_input(data: bytes) -> None:
    try:
        tensors, _ = safetensors.read(memoryview(bytearray(data)))
    except safetensors.FormatError:
        return
    for tensor in tensors.values():
        assert tensor.numel() * tensor.dtype.itemsize <= len(data)
        tensor.numpy().tobytes() if tensor.dtype.name != "bfloat16" else tensor.float()  # each byte is read


if __name__ == "__main__":
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()
