"""`headwater inspect`: runs a script or a module and shows what became of every compiled function that it called.
`headwater passes`: what the compiler does to a graph, in order."""

from __future__ import annotations

import contextlib
import json
import re
import runpy
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_NAMED = re.compile(r"^(.*[^:]):([A-Za-z_][\w.<>]*)$")


def split_target(target: str) -> tuple[str, str]:
    """("train.py", "step") from "train.py:step"; the name is empty if none is given."""
    match = _NAMED.match(target)
    return (match[1], match[2]) if match else (target, "")


@contextlib.contextmanager
def _recording() -> Iterator[list[Any]]:
    """The compiled functions that are made inside."""
    from headwater.compiler import inspection

    found: list[Any] = []
    inspection.registered = found
    try:
        yield found
    finally:
        inspection.registered = None


def _run(target: str, is_module: bool, arguments: list[str], quiet: bool) -> int:
    """Runs it as Python would. Its status; what it prints goes to stderr if `quiet`."""
    argv, path = sys.argv, list(sys.path)
    sys.argv = [target, *arguments]
    with contextlib.redirect_stdout(sys.stderr) if quiet else contextlib.nullcontext():
        try:
            if is_module:
                sys.path.insert(0, "")
                runpy.run_module(target, run_name="__main__", alter_sys=True)
            else:
                sys.path.insert(0, str(Path(target).resolve().parent))
                runpy.run_path(target, run_name="__main__")
        except SystemExit as stop:
            return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
        except Exception:
            traceback.print_exc()
            return 1
        finally:
            sys.argv, sys.path[:] = argv, path
    return 0


def _file_name(name: str, taken: set[str]) -> str:
    """A name for a page: letters, digits, dots and dashes only, and not one that is taken."""
    base = re.sub(r"[^\w.-]+", "-", name.replace("<locals>", "")).strip("-.") or "function"
    base = re.sub(r"\.{2,}", ".", base)
    name, number = base, 1
    while name in taken:
        number += 1
        name = f"{base}-{number}"
    taken.add(name)
    return name


def main(target: str, arguments: list[str], is_module: bool, as_json: bool, out: str | None, tensors: int) -> int:
    """0; 1 when the target failed, or when it called no compiled function (of that name)."""
    place, wanted = split_target(target)
    if not is_module and not Path(place).is_file():
        print(f"headwater inspect: there is no file {place}", file=sys.stderr)
        return 1
    with _recording() as found:
        status = _run(place, is_module, arguments, quiet=as_json)
    called = [f for f in found if f.variants]
    shown = [f.inspect() for f in called]
    if wanted:
        shown = [i for i in shown if i.name == wanted or i.name.split(".")[-1] == wanted]
    if not shown:
        names = ", ".join(sorted({f.inspect().name for f in called}))
        problem = f"no compiled function {wanted!r}" if wanted else "no compiled function"
        print(f"headwater inspect: {place} called {problem}" + (f"; it called {names}" if names else ""), file=sys.stderr)
        return 1
    if as_json:
        print(json.dumps([i.data() for i in shown], indent=1))
    else:
        print("\n\n".join(i.text(tensors) for i in shown))
    if out is not None:
        folder = Path(out)
        folder.mkdir(parents=True, exist_ok=True)
        taken: set[str] = set()
        for i in shown:
            page = folder / f"{_file_name(i.name, taken)}.html"
            i.write_html(page)
            print(f"wrote {page}", file=sys.stderr if as_json else sys.stdout)
    return int(status != 0)


def passes_main(as_json: bool) -> int:
    """Prints the passes by stage."""
    import headwater as hw

    passes = hw._C.pass_list()
    if as_json:
        print(json.dumps([{"name": name, "stage": stage, "does": does} for name, stage, does in passes], indent=1))
        return 0
    before = ""
    for name, stage, does in passes:
        print(f"{stage if stage != before else '':<12}{name:<20}{does}")
        before = stage
    print("\nHEADWATER_PASSES_OFF=name,name leaves some out; HEADWATER_VERIFY=1 checks the graph after each.")
    return 0
