"""build_times: reading ninja's log, telling hits from compilations, measuring a slow file alone."""

import json

import build_times
import pytest


@pytest.fixture
def build(plant):
    """A build folder whose log has a slow file (it says), a quick one, a hit, a link and a file since removed."""
    tree = plant({"src/slow.cpp": "int a;\n", "src/quick.cpp": "int b;\n", "src/hit.cpp": "int c;\n"})
    rows = [
        (0, 500, "slow.o"),
        (0, 30_000, "slow.o"),
        (0, 2_000, "quick.o"),
        (5, 25, "hit.o"),
        (0, 90_000, "all.so"),
        (0, 90_000, "gone.o"),
    ]
    log = "# ninja log v5\n" + "".join(f"{a}\t{b}\t1\t{name}\thash\n" for a, b, name in rows)
    commands = [
        {
            "directory": str(tree),
            "file": str(tree / f"src/{name}.cpp"),
            "command": f"g++ -o {name}.o -c {tree}/src/{name}.cpp",
        }
        for name in ("slow", "quick", "hit")
    ]
    return plant({"build/.ninja_log": log, "build/compile_commands.json": json.dumps(commands)}) / "build"


def test_the_last_entry_of_each_source_counts(build):
    units = build_times.slowest(build, build.parent, None, False)
    assert [(unit.source, unit.seconds, unit.kind) for unit in units] == [
        ("src/slow.cpp", 30.0, "compiled"),
        ("src/quick.cpp", 2.0, "compiled"),
        ("src/hit.cpp", 0.02, "from ccache"),
    ]


def test_what_the_log_calls_slow_is_compiled_alone(build):
    units = build_times.slowest(build, build.parent, 20, False)
    assert [unit.source for unit in units if unit.kind == "alone"] == ["src/slow.cpp"]
    assert units[0].source == "src/quick.cpp"  # two lines of C++ do not take two seconds


def test_the_limit_decides_the_exit(build, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["build_times", str(build), "--limit", "20"])
    monkeypatch.setattr(build_times.tree, "ROOT", build.parent)
    assert build_times.main() == 0
    monkeypatch.setattr(build_times, "measure", lambda build, root, source: build_times.Unit(source, 21.0, "alone"))
    assert build_times.main() == 1
    assert "src/slow.cpp: 21.0 s of processor time; 20 s are the limit" in capsys.readouterr().out
