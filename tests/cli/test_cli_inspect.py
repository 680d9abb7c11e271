"""`headwater inspect` and `headwater passes`, as a user starts them."""

import json
import os
import subprocess
import sys

import pytest

import headwater as hw
from headwater import cli
from headwater.cli.inspect import split_target

SCRIPT = """
import sys
import headwater as hw

def main():
    @hw.compile
    def inner(x):
        return (x * 2).sum()

    inner(hw.ones(4))

@hw.compile
def outer(x, y):
    return x @ y

@hw.compile
def never(x):
    return x

if __name__ == "__main__":
    print("arguments", sys.argv[1:])
    main()
    outer(hw.ones(2, 3), hw.ones(3, 4))
    if "fail" in sys.argv:
        raise ValueError("the script broke")
"""


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "work.py"
    path.write_text(SCRIPT)
    return path


def run(*arguments, cwd=None):
    path = [os.path.abspath("python"), os.environ.get("PYTHONPATH", "")]
    return subprocess.run(
        [sys.executable, "-m", "headwater", *map(str, arguments)],
        capture_output=True, text=True, cwd=cwd, env={**os.environ, "PYTHONPATH": os.pathsep.join(path)}, timeout=110,
    )  # fmt: skip


def test_every_called_function_is_shown(script, tmp_path):
    out = run("inspect", "--out", tmp_path / "pages", script, "--flag", "7")
    assert out.returncode == 0, out.stderr
    assert "arguments ['--flag', '7']" in out.stdout
    assert "main.<locals>.inner: captured once; 1 program" in out.stdout
    assert "outer: captured once; 1 program" in out.stdout
    assert "never" not in out.stdout
    assert sorted(f.name for f in (tmp_path / "pages").iterdir()) == ["main.inner.html", "outer.html"]


def test_json_is_all_that_goes_to_stdout(script):
    out = run("inspect", "--json", f"{script}:inner")
    (found,) = json.loads(out.stdout)
    assert found["name"] == "main.<locals>.inner"
    assert found["programs"][0]["steps"][-1]["op"] in ("sum", "_region")
    assert "arguments" in out.stderr


def test_a_module(script):
    out = run("inspect", "-m", "work:outer", "x", cwd=script.parent)
    assert out.returncode == 0, out.stderr
    assert "arguments ['x']" in out.stdout
    assert "outer: captured once" in out.stdout and "inner" not in out.stdout


def test_a_script_that_fails_is_shown_all_the_same(script):
    out = run("inspect", script, "fail")
    assert out.returncode == 1
    assert "the script broke" in out.stderr
    assert "outer: captured once" in out.stdout


def test_nothing_to_show(script, capsys):
    out = run("inspect", f"{script}:outre")
    assert out.returncode == 1
    assert "called no compiled function 'outre'; it called main.<locals>.inner, outer" in out.stderr
    assert cli.main(["inspect", "missing.py"]) == 1
    assert "there is no file missing.py" in capsys.readouterr().err


def test_targets():
    assert split_target("a/b.py:step") == ("a/b.py", "step")
    assert split_target("a/b.py") == ("a/b.py", "")
    assert split_target("C:\\x.py") == ("C:\\x.py", "")
    assert split_target("models.mlp.train:Net.step") == ("models.mlp.train", "Net.step")


def test_passes(capsys):
    assert cli.main(["passes"]) == 0
    text = capsys.readouterr().out
    assert text.index("remove_dead") < text.index("form_regions") < text.index("hoist_updates")
    assert cli.main(["passes", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [p["name"] for p in found] == [name for name, _, _ in hw._C.pass_list()]
    assert all(p["does"] and p["stage"] for p in found)
