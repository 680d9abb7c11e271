"""What an operator is made of: `python -m headwater.ops expm1`, or without a name the list of all."""
from __future__ import annotations

import platform
import re
import sys
from pathlib import Path
from typing import Any

from . import _C


def names(internal: bool = False) -> list[str]:
    """The names of all ops, sorted."""
    return [n for n in _C.op_names() if internal or not _C.describe_op(n)["internal"]]


def describe(name: str) -> dict[str, Any]:
    """The declaration of an op as a dictionary; raises KeyError with similar names."""
    return _C.describe_op(name)


def _tests(name: str) -> list[str]:
    root = Path(__file__).resolve().parents[2]
    found = []
    for file in sorted((root / "tests" / "ops").glob("test_*.py")) if (root / "tests" / "ops").is_dir() else []:
        text = file.read_text()  # op_test is also called in loops over names, and with names such as f"avg_pool{n}d"
        made = [re.sub(r"\{[^}]*\}", ".*", m) for m in re.findall(r'f"(\w*\{[^"]*)"', text)]
        if "op_test(" in text and (f'"{name}"' in text or any(re.fullmatch(m, name) for m in made)):
            found.append(f"tests/ops/{file.name}")
    return found


def _instruction_sets(kernel: str) -> str:
    if kernel in ("reference", "onednn"):
        return "any" if kernel == "reference" else "chosen by oneDNN"
    return ("neon" if platform.machine() == "aarch64" else "avx2, avx512") + ", scalar (chosen at run time)"


def report(name: str) -> str:
    """A page about one op: rules, file, kernels per backend and instruction set, tests."""
    d = describe(name)
    lines = [d["signature"], "", "  " + d["doc"], ""]

    def row(title: str, text: str) -> None:
        lines.append(f"  {title:<14}{text}")

    row("declared in", d["file"])
    row("kind", d["kind"] + (", internal" if d["internal"] else ""))
    for i in d["inputs"]:
        marks = ("optional " if i["optional"] else "") + ("list " if i["variadic"] else "")
        row("input", f"{i['name']}: {marks}{i['doc']} ({', '.join(i['dtypes'])})")
    for a in d["attrs"]:
        if not a["hidden"]:
            otherwise = "" if a["required"] else f" = {a['default']!r}"
            row("argument", f"{a['name']}: {a['kind']}{otherwise}" + (f"; {a['doc']}" if a["doc"] else ""))
    row("outputs", ", ".join(d["outputs"]))
    row("promotion", d["promotes"])
    row("gradient", "declared" if d["has_grad"] else "of its parts" if d["kind"] == "composite" else f"none: {d['no_grad']}")
    row("SBP", "declared" if d["has_sbp"] else "of its parts" if d["kind"] == "composite" else f"none: {d['no_sbp']}")
    row("ONNX", d["onnx"] or ("of its parts" if d["kind"] == "composite" else f"none: {d['no_onnx']}"))
    row("in-place", f"Tensor.{name}_" if d["inplace"] else "no")
    row("autocast", d["autocast"])
    for k in d["kernels"]:
        row("kernel", f"{k['device']}: {k['name']} (priority {k['priority']}); {_instruction_sets(k['name'])}")
    for t in _tests(name) or (["those of the operators that use it"] if d["internal"] else []):
        row("tests", t)
    return "\n".join(lines)


def main(argv: list[str] | None = None) -> int:
    """Prints the page of each op named, or the list."""
    wanted = sys.argv[1:] if argv is None else argv
    if not wanted:
        public = names()
        print("\n".join(public))
        print(f"{len(public)} operators, {len(_C.op_names()) - len(public)} internal ones")
        return 0
    for name in wanted:
        try:
            print(report(name))
        except KeyError as e:
            print(e.args[0], file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
