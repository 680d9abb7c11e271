"""Importing: quick, without CUDA, in any order with other frameworks."""
import subprocess
import sys

import pytest


def run(code):
    return subprocess.run([sys.executable, "-c", code], check=True, timeout=300, capture_output=True, text=True).stdout


def test_import_loads_no_cuda_and_no_heavy_package():
    out = run("import headwater, sys; print(*[m for m in ('torch', 'matplotlib', 'sklearn', 'rich', 'numpy') if m in sys.modules]);"
              "print(*[l.split()[-1] for l in open('/proc/self/maps') if 'cuda' in l or 'cudnn' in l])")
    assert out.split() == []


@pytest.mark.parametrize("order", [("headwater", "torch", "onnxruntime"), ("torch", "headwater", "onnxruntime"),
                                   ("onnxruntime", "torch", "headwater")])
def test_lives_with_other_frameworks(order):
    run("\n".join(f"import {m}" for m in order) + """
a = headwater.ones(64, 64) @ headwater.ones(64, 64)
b = torch.ones(64, 64) @ torch.ones(64, 64)
assert a.sum().item() == b.sum().item() == 64 ** 3
c = headwater.conv2d(headwater.ones(1, 3, 8, 8), headwater.ones(4, 3, 3, 3))
d = torch.conv2d(torch.ones(1, 3, 8, 8), torch.ones(4, 3, 3, 3))
assert c.sum().item() == d.sum().item()
""")


def test_only_the_module_function_is_exported():
    import re
    import shutil

    import headwater._C as extension

    nm = shutil.which("nm")
    if not nm:
        pytest.skip("nm (binutils) is not installed")
    out = subprocess.run([nm, "-D", "--defined-only", extension.__file__], check=True, capture_output=True, text=True).stdout
    names = {line.split()[-1] for line in out.splitlines()}
    assert {n for n in names if not re.match(r"PyInit__C$|_init$|_fini$|_edata$|_end$|__bss_start$", n)} == set()
