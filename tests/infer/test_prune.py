"""`headwater prune`: what is selected, that a pruned runtime gives the library's bits, also on other processors under QEMU."""

import os
import re
import shutil
import subprocess

import numpy as np
import pytest

import headwater as hw
import headwater.quantization as q
from headwater import _C, nn
from headwater.cli import main
from headwater.infer.prune import PruneError, Sources, _library, prune
from models.mobilenet_v2.model import mobilenet_v2

# Reads the inputs' bytes one after the other, writes those of the outputs.
PROGRAM = r"""
#include <headwater_infer.h>
#include <stdio.h>
#include <stdlib.h>
#define TRY(call) if ((call) != HWI_OK) return fprintf(stderr, "%s\n", hwi_error()), 1
int main(int argc, char** argv) {
  hwi_model* model;
  hwi_session* session;
  hwi_spec spec;
  const void* data;
  (void)argc;
  TRY(hwi_model_load(argv[1], &model));
  TRY(hwi_model_check(model, 1e-3, NULL));
  TRY(hwi_session_create(model, NULL, &session));
  for (int i = 0; i < hwi_model_inputs(model); ++i) {
    TRY(hwi_model_input_spec(model, 0, i, &spec));
    void* buffer = malloc(spec.bytes);
    if (fread(buffer, 1, spec.bytes, stdin) != spec.bytes) return 2;
    TRY(hwi_session_input(session, i, buffer, spec.dtype, spec.ndim, spec.shape));
  }
  TRY(hwi_session_run(session));
  for (int i = 0; i < hwi_model_outputs(model); ++i) {
    TRY(hwi_session_result(session, i, &data, &spec));
    fwrite(data, 1, spec.bytes, stdout);
  }
  return 0;
}
"""


def digits():
    hw.manual_seed(0)
    layers = [nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(256, 10)]
    return nn.Sequential(*layers, nn.Softmax(1)).eval(), hw.rand(1, 1, 8, 8)


def mobilenet():
    hw.manual_seed(0)
    return mobilenet_v2().eval(), hw.randn(1, 3, 224, 224)


@pytest.fixture
def frozen(tmp_path):
    model, x = digits()
    hw.freeze(model, x, tmp_path / "digits.hwm")
    return tmp_path / "digits.hwm"


@pytest.fixture
def own_kernels():
    before = os.environ.get("HEADWATER_KERNELS_OFF", "")
    _C.set_kernels_off("onednn")
    yield
    _C.set_kernels_off(before)


def test_every_own_kernel_is_in_a_file_that_is_known():
    known = Sources(_library()[0])
    functors = known.functors()
    missing = []
    for op in set(_C.op_names()) - {"_exchange"}:  # what processes say to each other is in no frozen model
        for kernel in _C.describe_op(op)["kernels"]:
            if kernel["name"] != "onednn" and (op, kernel["name"]) not in known.kernels and op not in functors:
                missing.append((op, kernel["name"]))
    assert missing == []
    assert len(known.kernels) > 200 and len(functors) > 100


def check_includes(project):
    """Every header that a file names is in the project."""
    for path in (project / "src").rglob("*.*"):
        for header in re.findall(r'^#include "([^"]+)"', path.read_text(), re.MULTILINE):
            assert (project / "src" / header).exists() or (project / "third_party" / header).exists(), f"{path} includes {header}"


def test_project_holds_what_the_model_uses(frozen, tmp_path, capsys):
    assert main(["prune", str(frozen), "--out", str(tmp_path / "out"), "--target", "riscv64"]) == 0
    assert "build it" in capsys.readouterr().out
    out = tmp_path / "out"
    files = {p.relative_to(out).as_posix() for p in out.rglob("*") if p.is_file()}
    assert {"CMakeLists.txt", "README.md", "toolchain.cmake", "include/headwater_infer.h", "LICENSE", "run.c"} <= files
    assert {"src/infer/c_api.cpp", "src/infer/pruned/known_calls.cpp", "src/pruned_model.cpp", "third_party/hwy/highway.h"} <= files
    assert {"src/backends/cpu/softmax/softmax.cpp", "src/backends/cpu/pool/blocked.cpp"} <= files
    # Nothing of what the model does not use, no declarations of operators, no compiler.
    unused = ("src/ops/", "src/backends/onednn", "src/backends/cpu/attention", "src/backends/cpu/rnn", "src/kernels/isa.cpp",
              "src/codegen/llvm", "src/kernels/tuning/measure", "src/plan/stream")  # fmt: skip
    assert not [name for name in files if name.startswith(unused)]
    check_includes(out)
    assert "f32" in (out / "README.md").read_text()


def test_elementwise_loops_are_those_of_the_model(tmp_path):
    class Mixed(nn.Module):
        def forward(self, x, n):
            return hw.where(x > 0, nn.functional.gelu(x, approximate="tanh"), x) + n

    hw.freeze(Mixed(), (hw.randn(4, 5), hw.ones(5, dtype=hw.int32)), tmp_path / "m.hwm")
    prune([tmp_path / "m.hwm"], tmp_path / "out")
    loops = (tmp_path / "out/src/pruned_elementwise.cpp").read_text()
    assert set(re.findall(r"functors::(\w+), dtype_bit\(DType::(\w+)", loops)) >= {("gelu_tanh", "F32"), ("add", "F32"), ("where", "F32")}
    assert 'register_elementwise_kernel("gelu"' in loops and "functors::mul" not in loops
    check_includes(tmp_path / "out")


class Reductions(nn.Module):
    def forward(self, x, n, h):
        many = (x.sum(0), x.mean(), x.amax(1), x.prod(1), x.std(1), x.logsumexp(0), hw.linalg.vector_norm(x, 1, dim=1), (x > 0).any(1))
        return (*many, n.sum(1), x.double().amin(0), h.sum(1), h.amax())


def reductions():
    hw.manual_seed(0)
    return Reductions(), (hw.randn(40, 50), hw.arange(60).reshape(3, 20), hw.randn(4, 100).half())


def test_reductions_and_tracing_are_those_of_the_model(frozen, tmp_path):
    model, inputs = reductions()
    hw.freeze(model, inputs, tmp_path / "m.hwm")
    selection = prune([tmp_path / "m.hwm"], tmp_path / "out")
    assert len(selection.reductions) == 9  # halves are reduced in f32, as the others are
    kept = (tmp_path / "out/src/backends/cpu/reduce/kept.h").read_text()
    assert kept.count("compute == DType::F64") == 1 and "in == DType::F16" in kept and "BF16" not in kept
    assert not (tmp_path / "out/src/base/trace.cpp").exists()
    assert "constexpr bool tracing() { return false; }" in (tmp_path / "out/src/base/trace.h").read_text()
    check_includes(tmp_path / "out")
    assert prune([frozen], tmp_path / "none").reductions == set()


def test_choices_are_those_of_the_model(frozen, tmp_path):
    """Of the functions that a file chooses among, by dtype or operator, those of the model stay, and F32."""
    prune([frozen], tmp_path / "out")
    source = tmp_path / "out/src/backends/cpu"
    assert re.findall(r"case DType::(\w+)", (source / "gemm/routines.cpp").read_text()) == ["F32"]
    rows = (source / "softmax/rows.cpp").read_text()
    assert re.findall(r'op == "(\w+)"', rows) == ["softmax"] and re.findall(r"case DType::(\w+)", rows) == ["F32"]
    hw.freeze(nn.Softmax(1), hw.rand(2, 3, dtype=hw.float64), tmp_path / "double.hwm")
    prune([tmp_path / "double.hwm"], tmp_path / "double")
    rows = (tmp_path / "double/src/backends/cpu/softmax/rows.cpp").read_text()
    assert re.findall(r"case DType::(\w+)", rows) == ["F32", "F64"]


def in_integers():
    """A quantised network with dense and depthwise convolutions and linear layers."""
    hw.manual_seed(0)
    layers = [nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1, groups=16), nn.ReLU()]
    layers += [nn.Conv2d(16, 32, 1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(512, 16), nn.ReLU(), nn.Linear(16, 10)]
    images = hw.rand(32, 8, 8, 8)
    prepared = q.prepare(nn.Sequential(*layers).eval(), q.presets.minmax, inputs=images[:4])
    q.calibrate(prepared, images.split(8))
    return q.convert(prepared).eval(), images[:1]


def test_models_in_integers_are_pruned(tmp_path, own_kernels):
    hw.freeze(*in_integers(), tmp_path / "m.hwm")
    for target in TARGETS:
        selection = prune([tmp_path / "m.hwm"], tmp_path / target, target)
        assert {"_conv2d_int8", "_linear_int8"} <= {op for op, _ in selection.kernels}
        check_includes(tmp_path / target)


def test_mistakes_have_words(frozen, tmp_path, capsys):
    (tmp_path / "full").mkdir()
    (tmp_path / "full/x").write_text("")
    for target, isa, out, words in [
        ("mips", None, "a", "there are x86_64, aarch64, riscv64"),
        ("aarch64", "avx2", "a", "it has neon"),
        ("x86_64", None, "full", "is not empty"),
    ]:
        with pytest.raises(PruneError, match=words):
            prune([frozen], tmp_path / out, target, isa)
    with pytest.raises(PruneError, match="no model"):
        prune([], tmp_path / "a")
    assert main(["prune", str(tmp_path / "none.hwm"), "--out", str(tmp_path / "a")]) == 1
    assert "none.hwm" in capsys.readouterr().err


TARGETS = ["x86_64", "aarch64", "riscv64"]


def tools(target):
    """Compiler prefix and how programs are run."""
    if target == os.uname().machine:
        return "", []
    prefix, qemu = f"{target}-linux-gnu-", shutil.which(f"qemu-{target}")
    if target == "x86_64" or not shutil.which(f"{prefix}g++") or not qemu:
        pytest.skip(f"needs g++-{target.replace('_', '-')}-linux-gnu and qemu-user (scripts/setup.sh installs them)")
    return prefix, [qemu]


def build(models, folder, target):
    """The pruned library's bytes of code, and a program that runs it."""
    prefix, run = tools(target)
    prune(models, folder, target)
    for command in (["cmake", "-B", "build", "-G", "Ninja"], ["cmake", "--build", "build", "-j", "2"]):
        result = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        assert result.returncode == 0, (result.stdout + result.stderr)[-4000:]
    (folder / "bits.c").write_text(PROGRAM)
    flags = ["-O1", "-Iinclude", "-static", "bits.c", "build/libheadwater_infer.a", "-lstdc++", "-lgomp", "-lpthread", "-lm", "-ldl"]
    subprocess.run([f"{prefix}gcc", *flags, "-o", "bits"], cwd=folder, check=True, stderr=subprocess.DEVNULL)
    sizes = subprocess.run([f"{prefix}size", "build/libheadwater_infer.so"], cwd=folder, capture_output=True, text=True, check=True)
    code = int(sizes.stdout.splitlines()[1].split()[0])
    print(f"{target}: {code} bytes of code")
    exported = subprocess.run(
        [f"{prefix}nm", "-D", "--defined-only", "--format=just-symbols", "build/libheadwater_infer.so"],
        cwd=folder, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert all(name.startswith("hwi_") for name in exported.stdout.split())
    return code, [*run, str(folder / "bits")]


def outputs(program, model, inputs):
    result = subprocess.run(
        [*program, str(model)], input=b"".join(x.numpy().tobytes() for x in inputs), capture_output=True,
        env={**os.environ, "HEADWATER_NUM_THREADS": "1"},
    )  # fmt: skip
    assert result.returncode == 0, result.stderr.decode()
    return np.frombuffer(result.stdout, np.float32)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("target", TARGETS)
def test_digits_on(target, frozen, tmp_path, own_kernels):
    code, program = build([frozen], tmp_path / "out", target)
    assert code < 380_000
    model, x = digits()
    want = hw.infer.load(frozen)(x).numpy().ravel()
    have = outputs(program, frozen, [x])
    if target == os.uname().machine and _C.isa() == "avx2":
        assert have.tobytes() == want.tobytes()
    np.testing.assert_allclose(have, want, rtol=1e-5, atol=1e-6)
    # Trained anew: the same calls, other weights.
    with hw.no_grad():
        for p in model.parameters():
            p.mul_(0.5)
    hw.freeze(model, x, tmp_path / "again.hwm")
    np.testing.assert_allclose(outputs(program, tmp_path / "again.hwm", [x]), model(x).detach().numpy().ravel(), rtol=1e-4, atol=1e-5)
    # Another model: a call that is not known.
    hw.freeze(nn.Sequential(nn.Linear(4, 3), nn.Tanh()), hw.rand(2, 4), tmp_path / "other.hwm")
    refused = subprocess.run([*program, str(tmp_path / "other.hwm")], input=b"", capture_output=True, text=False)
    assert refused.returncode == 1 and b"prune again" in refused.stderr


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("target", TARGETS)
def test_integers_on(target, tmp_path, own_kernels):
    model, x = in_integers()
    hw.freeze(model, x, tmp_path / "m.hwm")
    code, program = build([tmp_path / "m.hwm"], tmp_path / "out", target)
    assert code < 380_000
    want = hw.infer.load(tmp_path / "m.hwm")(x).numpy().ravel()
    np.testing.assert_allclose(outputs(program, tmp_path / "m.hwm", [x]), want, rtol=1e-5, atol=1e-5)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("target", TARGETS)
def test_mobilenet_v2_on(target, tmp_path, own_kernels):
    tools(target)
    model, x = mobilenet()
    hw.freeze(model, x, tmp_path / "m.hwm")
    code, program = build([tmp_path / "m.hwm"], tmp_path / "out", target)
    if target != "riscv64":
        assert code <= 350_000
    want = hw.infer.load(tmp_path / "m.hwm")(x).numpy().ravel()
    have = outputs(program, tmp_path / "m.hwm", [x])
    if target == os.uname().machine:
        assert have.tobytes() == want.tobytes()
    np.testing.assert_allclose(have, want, rtol=0, atol=1e-4 * float(np.abs(want).max()))


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_reductions_give_the_same_bits(tmp_path, own_kernels):
    model, inputs = reductions()
    hw.freeze(model, inputs, tmp_path / "m.hwm")
    _, program = build([tmp_path / "m.hwm"], tmp_path / "out", os.uname().machine)
    want = b"".join(t.numpy().tobytes() for t in hw.infer.load(tmp_path / "m.hwm")(*inputs))
    result = subprocess.run(
        [*program, str(tmp_path / "m.hwm")], input=b"".join(x.numpy().tobytes() for x in inputs), capture_output=True
    )
    assert result.returncode == 0, result.stderr.decode()
    assert result.stdout == want


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_c_program_feeds_pixels(tmp_path, own_kernels):
    """Raw bytes N H W C in, the scores of the model out: preprocessing is in the file."""
    model, _ = digits()
    step = hw.infer.Preprocess(resize=10, crop=8, channels=(1,), mean=0.5, std=0.25)
    x = hw.from_numpy(np.random.default_rng(0).integers(0, 256, (1, 20, 24, 3), dtype=np.uint8))
    hw.freeze(model, x, tmp_path / "m.hwm", preprocess=step)
    _, program = build([tmp_path / "m.hwm"], tmp_path / "out", os.uname().machine)
    with hw.no_grad():
        want = model(step(x)).numpy().ravel()
    np.testing.assert_allclose(outputs(program, tmp_path / "m.hwm", [x]), want, rtol=1e-5, atol=1e-6)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_several_models_in_one_runtime(tmp_path, own_kernels):
    from tests.infer.test_freeze import MODELS

    names = ("mlp", "resnet", "bert", "gpt2", "lstm", "dlrm")
    cases = {}
    for name in names:
        hw.manual_seed(0)
        model, inputs = MODELS[name]()
        hw.freeze(model, inputs, tmp_path / f"{name}.hwm")
        cases[name] = inputs
    _, program = build([tmp_path / f"{name}.hwm" for name in names], tmp_path / "out", os.uname().machine)
    for name, inputs in cases.items():
        frozen = hw.infer.load(tmp_path / f"{name}.hwm")
        want = frozen(*inputs)
        want = b"".join(t.numpy().tobytes() for t in (want if isinstance(want, tuple) else (want,)))
        assert outputs(program, tmp_path / f"{name}.hwm", inputs).tobytes() == want, name
