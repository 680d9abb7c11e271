"""The command line: `headwater env`, `ops`, `inspect`, `bisect`, `passes`, `plan`, `launch`, `demo`, `check`, `run`, `prune`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="headwater", description="Headwater: a deep-learning framework.")
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")

    env = commands.add_parser("env", help="print version, build, instruction sets, threads, libraries and devices")
    env.add_argument("--json", action="store_true", help="as JSON")

    ops = commands.add_parser("ops", help="list the operators, or print all that is declared of one")
    ops.add_argument("names", nargs="*", metavar="NAME")

    inspect = commands.add_parser("inspect", help="run a script and show what became of its compiled functions")
    inspect.add_argument("--out", metavar="DIR", help="also write a page with the memory map for each function")
    inspect.add_argument("--json", action="store_true", help="as JSON; what the script prints goes to stderr")
    inspect.add_argument("--tensors", type=int, default=12, metavar="N", help="how many tensors to list (default: %(default)s)")
    inspect.add_argument("-m", action="store_true", dest="is_module", help="TARGET is a module, as in python -m")
    inspect.add_argument("target", metavar="TARGET", help="a script, or script.py:NAME for one function only")
    inspect.add_argument("arguments", nargs=argparse.REMAINDER, metavar="ARGUMENT", help="of the script")

    bisect = commands.add_parser("bisect", help="run a script and name the first pass and node that change a result")
    bisect.add_argument("--tolerance", type=float, default=0.0, metavar="T", help="of the largest value (default: bit for bit)")
    bisect.add_argument("--against", metavar="NAME=VALUE", action="append", default=[], help="compare with a run under this setting")
    bisect.add_argument("--record", metavar="FILE", help=argparse.SUPPRESS)
    bisect.add_argument("target", metavar="TARGET", help="a script")
    bisect.add_argument("arguments", nargs=argparse.REMAINDER, metavar="ARGUMENT", help="of the script")

    passes = commands.add_parser("passes", help="list what the compiler does to a graph, in order")
    passes.add_argument("--json", action="store_true", help="as JSON")

    launch = commands.add_parser("launch", help="run a script on several ranks of this machine")
    launch.add_argument("-n", type=int, required=True, dest="ranks", metavar="N", help="how many ranks")
    launch.add_argument("--max-restarts", type=int, default=0, metavar="K", help="start again after a failure, K times (default: 0)")
    launch.add_argument("-m", action="store_true", dest="is_module", help="TARGET is a module, as in python -m")
    launch.add_argument("target", metavar="TARGET", help="a script")
    launch.add_argument("arguments", nargs=argparse.REMAINDER, metavar="ARGUMENT", help="of the script")

    plan = commands.add_parser("plan", help="print critical cycle, utilisation, bytes and memory of a plan of actors")
    plan.add_argument("target", metavar="TARGET", help="a plan file, or script.py:NAME of a plan or of what has a plan()")
    plan.add_argument("--json", action="store_true", help="as JSON")

    demo = commands.add_parser("demo", help="train on real handwritten digits, save, reload, predict, draw")
    demo.add_argument("--out", default="headwater-demo", metavar="DIR", help="where files go (default: %(default)s)")
    demo.add_argument("--epochs", type=int, default=None, help="passes over the training digits (default: 12)")
    demo.add_argument("--seed", type=int, default=0, help="of weights and order (default: %(default)s)")
    demo.add_argument("--predict", metavar="FILE", help="only load a trained model and print its predictions as JSON")
    _frozen_parsers(commands)
    return parser


def _add_key(parser: Any) -> None:
    parser.add_argument("--key-file", metavar="FILE", help="of an encrypted model: the file that holds its key, 32 bytes")


def _frozen_parsers(commands: Any) -> None:
    check = commands.add_parser("check", help="check a frozen model: its weights are whole, its tests give what they should")
    check.add_argument("--tolerance", type=float, default=1e-3, help="part of an output's largest value (default: %(default)s)")
    check.add_argument("--json", action="store_true", help="as JSON")
    _add_key(check)
    check.add_argument("model", metavar="MODEL.hwm")

    run = commands.add_parser("run", help="run a frozen model or an ONNX file, on its test inputs or on given ones")
    _add_key(run)
    run.add_argument("--input", action="append", default=[], metavar="NAME=FILE.npy", help="instead of the test input, or zeros")
    run.add_argument("--shapes", type=int, default=0, metavar="N", help="which of the model's sets of shapes (default: the first)")
    run.add_argument("--out", metavar="FILE.npz", help="where to write the outputs; with --fit the fitted model")
    run.add_argument("--benchmark", action="store_true", help="time it: latencies, memory, a table of operators")
    run.add_argument("--seconds", type=float, default=2.0, help="how long to time it (default: %(default)s)")
    run.add_argument("--threads", default="", metavar="1,2", help="with --benchmark: also time these numbers of threads, in turns")
    run.add_argument("--against", metavar="OTHER.hwm", help="with --benchmark: also time this model, in turns")
    run.add_argument("--fit", action="store_true", help="time threads and, of ONNX, algorithms and layout; keep the best in --out FILE")
    run.add_argument("--error", type=float, metavar="PART", help="with --fit: try bfloat16 too, within this part of the largest value")
    run.add_argument("--json", action="store_true", help="the benchmark as JSON")
    run.add_argument("model", metavar="MODEL.hwm|MODEL.onnx")

    prune = commands.add_parser("prune", help="write a project that builds a runtime which holds what models use, and no more")
    prune.add_argument("--out", required=True, metavar="DIR", help="the project's folder, which must be empty or not there")
    prune.add_argument("--target", default="x86_64", metavar="CPU", help="x86_64 (default), aarch64 or riscv64")
    prune.add_argument("--isa", metavar="NAME", help="for x86_64: avx2 (default), avx512 or scalar")
    _add_key(prune)
    prune.add_argument("models", nargs="+", metavar="MODEL.hwm")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command; the exit status: 0, 1 when it failed, 2 for wrong arguments."""
    parser = _parser()
    arguments = parser.parse_args(argv)
    try:
        return _run(parser, arguments)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader of a pipe has gone
        sys.stderr.close()
        return 0


def _run(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> int:
    if arguments.version:
        import headwater

        print(headwater.__version__)
        return 0
    if arguments.command == "env":
        from . import env

        return env.main(arguments.json)
    if arguments.command == "ops":
        from headwater import ops

        return ops.main(arguments.names)
    if arguments.command == "inspect":
        from .inspect import main as inspect_main

        a = arguments
        return inspect_main(a.target, a.arguments, a.is_module, a.json, a.out, a.tensors)
    if arguments.command == "bisect":
        from .bisect import main as bisect_main

        a = arguments
        return bisect_main(a.target, a.arguments, a.tolerance, a.against, a.record)
    if arguments.command == "passes":
        from .inspect import passes_main

        return passes_main(arguments.json)
    if arguments.command in ("check", "run", "prune"):
        return _run_frozen(arguments)
    if arguments.command == "launch":
        from .launch import LaunchError
        from .launch import main as launch_main

        a = arguments
        try:
            return launch_main(a.ranks, a.max_restarts, a.target, a.arguments, a.is_module)
        except LaunchError as error:
            parser.exit(1, f"headwater launch: {error}\n")
    if arguments.command == "plan":
        from .plan import main as plan_main

        return plan_main(arguments.target, arguments.json)
    if arguments.command == "demo":
        from .demo import main as demo_main
        from .demo import predict_main

        if arguments.predict:
            return predict_main(arguments.predict)
        return demo_main(arguments.out, arguments.epochs, arguments.seed)
    parser.print_help()
    return 2


def _run_frozen(a: argparse.Namespace) -> int:
    from . import frozen

    if a.command == "check":
        return frozen.check_main(a.model, a.tolerance, a.json, a.key_file)
    if a.command == "prune":
        return frozen.prune_main(a.models, a.out, a.target, a.isa, a.key_file)
    return frozen.run_main(
        a.model, a.input, a.shapes, a.benchmark, a.seconds, a.out, a.json, a.threads, a.against, a.key_file, a.fit, a.error
    )
