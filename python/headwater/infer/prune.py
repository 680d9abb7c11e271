"""`headwater prune`: a project that builds a runtime which holds what some frozen models use, and nothing else.

The sources are those of the library: in an installed package they lie in `headwater/runtime`, in a checkout in `src`. Which files are
copied follows from the kernels that the models run on, and from the includes of these files.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import headwater as hw

from .. import _C
from . import prune_text as text

TARGETS = {"x86_64": ("avx2", "avx512", "scalar"), "aarch64": ("neon",), "riscv64": ("scalar",)}

_ROOMS = ("base", "core", "plan", "kernels", "backends/cpu", "codegen", "chain", "infer")
_ROOT = "infer/c_api.cpp"
# Files that stand for larger ones: what the header's own files would be, and what is built instead.
_INSTEAD = {
    "kernels/isa.h": "infer/pruned/fixed_isa.cpp",
    "op/check_plan.h": "infer/pruned/known_calls.cpp",
    "codegen/loop_code.h": "infer/pruned/plain_loops.cpp",
    "kernels/tuning/tuning.h": "infer/pruned/untuned.cpp",
    "infer/encrypted.h": "infer/pruned/unencrypted.cpp",
}
# Files whose place another takes, under the same name.
_REPLACED = {"base/trace.h": "infer/pruned/untraced.h"}
# Files that choose a function by dtype or operator, a line for each; lines that the models do not take are left out.
_CHOOSING = (
    "backends/cpu/gemm/routines.cpp", "backends/cpu/softmax/blocks.cpp", "backends/cpu/softmax/rows.cpp",
    "backends/cpu/norm/layer_norm_rows.cpp", "backends/cpu/norm/batch_norm_loops.cpp", "kernels/loops/convert_rows.cpp",
)  # fmt: skip
# Headers that a file of another name and folder defines.
_ELSEWHERE = {"kernels/loss/class_scores.h": "kernels/reference/class_scores.cpp"}
_INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]', re.MULTILINE)
_ENTRY = re.compile(r'\{\s*"(\w+)",\s*"(\w+)",\s*DeviceType::CPU')
_LISTED = re.compile(r'\{op, "(\w+)", DeviceType::CPU')
_FUNCTOR = re.compile(r'^struct (\w+) : (?:Unary|Binary|Ternary|Test|Compare|Functor)<"(\w+)"', re.MULTILINE)
_NESTED = re.compile(r'prepare_kernel\(\s*\{"(\w+)"')
_REGISTRIES = ("kernels/registry.cpp", "kernels/elementwise/table.cpp")


class PruneError(RuntimeError):
    """The project cannot be written; the message says why."""


def _library() -> tuple[Path, Path]:
    """Where the library's sources are, and the headers of others that they include."""
    package = Path(hw.__file__).resolve().parent
    if (package / "runtime/src" / _ROOT).exists():
        return package / "runtime/src", package / "runtime/third_party"
    root = package.parent.parent
    for build in (root / "build/release", *sorted((root / "build").glob("*"))):
        headers = build / "runtime/third_party"
        if (root / "src" / _ROOT).exists() and (headers / "frozen_generated.h").exists():
            return root / "src", headers
    raise PruneError(
        "the sources of the runtime are not here: they come with the installed package (headwater/runtime), or with a checkout "
        "that was built (src, build/release/runtime)"
    )


class Sources:
    """The library's files, what they include, and which of them define what a header declares."""

    def __init__(self, root: Path, encrypted: bool = False) -> None:
        self.root = root
        self.instead = {header: file for header, file in _INSTEAD.items() if not (encrypted and header == "infer/encrypted.h")}
        self.texts: dict[str, str] = {}
        for room in _ROOMS:
            for path in sorted((root / room).rglob("*")):
                name = path.relative_to(root).as_posix()
                if path.suffix in (".h", ".cpp") and not name.endswith("_test.cpp") and "/stream/" not in name:
                    self.texts[name] = path.read_text()
        for name, other in _REPLACED.items():
            self.texts[name] = self.texts.pop(other)
            del self.texts[name.removesuffix(".h") + ".cpp"]
        self.texts["op/check_plan.h"] = (root / "op/check_plan.h").read_text()
        self.includes = {name: _INCLUDE.findall(content) for name, content in self.texts.items()}
        self.kernels: dict[tuple[str, str], str] = {}  # (op, name) -> file
        self.elementwise: set[str] = set()  # files that register loops
        for name, content in self.texts.items():
            self._read_registrations(name, content)
        self._registering = set(self.kernels.values()) | self.elementwise
        self.defining: dict[str, list[str]] = {}
        for name in self.texts:
            for header in self._headers_of(name):
                self.defining.setdefault(header, []).append(name)

    def _read_registrations(self, name: str, content: str) -> None:
        if not name.endswith(".cpp") or name in _REGISTRIES:
            return
        if re.search(r"Register(Reference)?Elementwise registered", content):
            self.elementwise.add(name)
        for op, kernel in _ENTRY.findall(content):
            self.kernels[op, kernel] = name
        for kernel in _LISTED.findall(content):
            table = re.search(r"kOps\[\] = \{([^}]*)\}", content)
            for op in re.findall(r'"(\w+)"', table[1] if table else content):
                self.kernels.setdefault((op, kernel), name)

    def _headers_of(self, name: str) -> Iterable[str]:
        """The headers that a file defines: the one with its name, else those of its folder that it includes. A file that registers
        kernels is wanted for these, and defines no header but its own."""
        if not name.endswith(".cpp") or name.startswith("infer/pruned/"):
            return
        own = name.removesuffix(".cpp") + ".h"
        if own in self.texts:
            yield own
            return
        if name in self._registering:
            return
        folder = name.rpartition("/")[0]
        seen: set[str] = set()
        todo = list(self.includes[name])
        while todo:
            header = todo.pop()
            if header in seen or header.rpartition("/")[0] != folder or header not in self.texts:
                continue
            seen.add(header)
            if header.endswith("-inl.h"):
                todo += self.includes[header]
            elif not header.endswith("/targets.h"):
                yield header

    def closure(self, start: Iterable[str]) -> set[str]:
        """The files, what they include, and what defines what these declare."""
        found: set[str] = set()
        todo = list(start)
        while todo:
            name = todo.pop()
            if name in found or name not in self.texts:
                continue
            found.add(name)
            todo += self.includes[name]
            if name in self.instead:
                todo.append(self.instead[name])
            else:
                todo += [*self.defining.get(name, ()), _ELSEWHERE.get(name, "")]
        return found

    def functors(self) -> dict[str, tuple[str, str]]:
        """By name: the struct, and the header that declares it."""
        table: dict[str, tuple[str, str]] = {}
        for name, content in self.texts.items():
            if name.startswith("kernels/elementwise/functors_"):
                table.update({op: (struct, name) for struct, op in _FUNCTOR.findall(content)})
        return table


@dataclass
class Selection:
    """What models use."""

    models: list[str] = field(default_factory=list)
    digests: set[str] = field(default_factory=set)
    kernels: set[tuple[str, str]] = field(default_factory=set)  # (op, name)
    functors: set[tuple[str, int]] = field(default_factory=set)  # (functor, dtype in which it computes)
    named: set[str] = field(default_factory=set)  # ops that run on functors of another name
    reductions: set[tuple[int, int]] = field(default_factory=set)  # (kind, dtype in which it combines)
    dtypes: set[int] = field(default_factory=set)

    def add(self, native: Any, isa: str) -> None:
        self.models.append(native.name)
        try:
            calls = native.used_kernels(isa)
        except ValueError as error:
            raise PruneError(f"{native.name}: {error}") from None
        for call in calls:
            self.digests.add(call["digest"])
            self.dtypes.update(call["dtypes"])
            if call["functor"]:
                self.functors.add((call["functor"], call["compute"]))
                if call["functor"] != call["op"]:
                    self.named.add(call["op"])
            else:
                if call["reduction"] >= 0:
                    self.reductions.add((call["reduction"], call["compute"]))
                self.kernels.update((call["op"], kernel) for kernel in call["kernels"])


def select(sources: Sources, selection: Selection) -> set[str]:
    """The library's files that hold what was selected."""
    start, todo = {_ROOT}, sorted(selection.kernels)
    done: set[tuple[str, str]] = set()
    while todo:
        kernel = todo.pop()
        if kernel in done:
            continue
        done.add(kernel)
        if kernel not in sources.kernels:
            raise PruneError(f"no file of the library registers the kernel {kernel[1]} of {kernel[0]}")
        name = sources.kernels[kernel]
        start.add(name)
        for op in _NESTED.findall(sources.texts[name]):  # a kernel that prepares another
            todo += [k for k in sources.kernels if k[0] == op]
    selection.kernels |= done
    if selection.functors:
        table = sources.functors()
        start |= {"kernels/elementwise/table.cpp", "kernels/elementwise/driver.cpp", "kernels/elementwise/make_loops.h"}
        start |= {table[functor][1] for functor, _ in selection.functors}
    files = sources.closure(start)
    if not selection.functors:  # some kernels are made of functors, without the tables of loops
        files -= {name for name in files if name.startswith("kernels/elementwise/") and name.endswith(".cpp")}
    return files


def prune(
    models: Sequence[str | PathLike[str]], out: str | PathLike[str], target: str = "x86_64", isa: str | None = None,
    key: bytes | None = None,
) -> Selection:
    """Writes the project for `target` into the folder `out`, which must be empty or not there.

    `isa` is the one instruction set that the runtime is built for: for x86_64 avx2 (the default), avx512 or scalar; aarch64 has neon and
    riscv64 scalar code. `key` is that of encrypted models; the runtime then decrypts, by the libcrypto of its machine, and does not hold
    the key. The runtime accepts frozen models whose kernel calls all occur in `models`: these, and what was trained anew.
    """
    if target not in TARGETS:
        raise PruneError(f"there is no target {target!r}; there are {', '.join(TARGETS)}")
    isa = isa or TARGETS[target][0]
    if isa not in TARGETS[target]:
        raise PruneError(f"{target} has no instruction set {isa!r}; it has {', '.join(TARGETS[target])}")
    if not models:
        raise PruneError("no model is given")
    folder = Path(out)
    if folder.exists() and any(folder.iterdir()):
        raise PruneError(f"{folder} is not empty")
    root, third_party = _library()
    selection = Selection()
    for path in models:
        native = _C.FrozenModel.load(fspath(path)) if key is None else _C.FrozenModel.load_encrypted(fspath(path), key)
        selection.add(native, isa)
    sources = Sources(root, encrypted=key is not None)
    files = select(sources, selection)
    narrowed = {"core/visit.h": text.served, "backends/cpu/reduce/kept.h": text.kept_reductions}
    narrowed |= dict.fromkeys(_CHOOSING, text.chosen)
    for name in sorted(files):
        (folder / "src" / name).parent.mkdir(parents=True, exist_ok=True)
        content = sources.texts[name]
        (folder / "src" / name).write_text(narrowed[name](content, selection) if name in narrowed else content)
    _copy_others(root, third_party, folder)
    generated = {"pruned_model.cpp": text.known_calls(selection)}
    if selection.functors:
        generated["pruned_elementwise.cpp"] = text.loops(selection, sources.functors())
    for name, content in generated.items():
        (folder / "src" / name).write_text(content)
    compiled = sorted([name for name in files if name.endswith(".cpp")] + list(generated))
    for name, content in text.project(selection, compiled, target, isa).items():
        (folder / name).write_text(content)
    return selection


def _copy_others(root: Path, third_party: Path, folder: Path) -> None:
    shutil.copytree(third_party, folder / "third_party")
    (folder / "include").mkdir()
    for name in ("headwater_infer.h", "headwater_infer.hpp"):
        shutil.copy(root / "infer" / name, folder / "include")
    for name in ("LICENSE", "THIRD_PARTY_NOTICES", "run.c"):
        shutil.copy(third_party.parent / name, folder)
