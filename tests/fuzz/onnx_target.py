"""libFuzzer's entry to the reader of ONNX files, by Atheris: a module or one of the errors that it documents, nothing else.

What libFuzzer changes is a file's bytes; most of the changed ones are refused by protobuf, the others reach the reader.
"""

from __future__ import annotations

import sys
import warnings

import atheris

with atheris.instrument_imports(include=["headwater.onnx"]):
    import headwater.onnx as ox

ERRORS = (ox.OnnxError, TypeError, ValueError)


def one_input(data: bytes) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = ox.load(data)
        except ERRORS:
            return
    assert model.output_names is not None


if __name__ == "__main__":
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()
