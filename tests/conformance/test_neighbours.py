"""Headwater in one process with other frameworks, in either order: both keep working, and nothing of ours leaks out."""

import subprocess
import sys

import pytest

USE = {
    "headwater": """
import headwater as hw
x = hw.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
(x @ x).sum().backward()
assert x.grad.tolist() == [[7.0, 11.0], [9.0, 13.0]], x.grad
image = hw.ones(1, 8, 16, 16)
assert hw.nn.functional.conv2d(image, hw.ones(8, 8, 3, 3), padding=1).amax().item() == 72.0
""",
    "torch": """
import torch
t = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
(t @ t).sum().backward()
assert t.grad.tolist() == [[7.0, 11.0], [9.0, 13.0]], t.grad
assert torch.nn.functional.conv2d(torch.ones(1, 8, 16, 16), torch.ones(8, 8, 3, 3), padding=1).amax().item() == 72.0
""",
    "onnxruntime": """
import onnxruntime
assert "CPUExecutionProvider" in onnxruntime.get_available_providers()
""",
}


def run(*parts):
    result = subprocess.run([sys.executable, "-c", "\n".join(parts)], capture_output=True, text=True, timeout=100)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.parametrize(
    "order",
    [
        ("torch", "headwater", "torch"),
        ("headwater", "torch", "headwater"),
        ("onnxruntime", "headwater", "onnxruntime"),
        ("headwater", "onnxruntime", "headwater"),
    ],
    ids=" then ".join,
)
def test_imported_in_either_order(order):
    run(*(USE[name] for name in order))


def test_import_brings_in_no_cuda_and_no_other_framework():
    modules = run("import headwater, sys; print(*sys.modules)").split()
    assert not {"torch", "tensorflow", "sklearn", "matplotlib", "rich", "scipy", "pandas"} & set(modules)
    maps = run("import headwater; print(open('/proc/self/maps').read())")
    assert "libcuda" not in maps
    assert "libnvidia" not in maps


def test_the_extension_exports_its_entry_point_alone():
    import headwater._C

    command = ["nm", "-D", "--defined-only", "--format=just-symbols", headwater._C.__file__]
    assert subprocess.check_output(command, text=True).split() == ["PyInit__C"]
