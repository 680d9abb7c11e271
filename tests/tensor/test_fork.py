"""A child of fork() computes with every kind of kernel that the parent has already used, also those with a thread team."""

import subprocess
import sys

import pytest

PROGRAM = """
import os
import headwater as hw
hw.set_num_threads(2)

def work():
    x, w = hw.ones(4, 64, 28, 28, requires_grad=True), hw.ones(64, 64, 3, 3, requires_grad=True)
    y = hw.nn.functional.conv2d(x, w).sum()
    y.backward()
    a = hw.ones(512, 512)
    return y.item() + (a @ a).sum().item() + a.exp().sum(0)[0].item() + x.grad.sum().item()

before = work()
{setting}
pid = os.fork()
if pid == 0:
    {in_child}
    os._exit(0 if work() == before else 3)
status = os.waitpid(pid, 0)[1]
assert status == 0, status
assert work() == before
"""


@pytest.mark.parametrize(
    ("setting", "in_child"),
    [("", ""), ("", "hw.set_num_threads(2)"), ("", "import threading; t = threading.Thread(target=work); t.start(); t.join()")],
)
def test_kernels_after_fork(setting, in_child):
    program = PROGRAM.format(setting=setting, in_child=in_child or "pass")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=90)
    assert done.returncode == 0, done.stderr
