"""The command line: `headwater env`, `ops`, `inspect`, `bisect`, `passes`, `demo`; also as `python -m headwater`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence


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

    demo = commands.add_parser("demo", help="train on real handwritten digits, save, reload, predict, draw")
    demo.add_argument("--out", default="headwater-demo", metavar="DIR", help="where files go (default: %(default)s)")
    demo.add_argument("--epochs", type=int, default=None, help="passes over the training digits (default: 12)")
    demo.add_argument("--seed", type=int, default=0, help="of weights and order (default: %(default)s)")
    demo.add_argument("--predict", metavar="FILE", help="only load a trained model and print its predictions as JSON")
    return parser


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
    if arguments.command == "demo":
        from .demo import main as demo_main
        from .demo import predict_main

        if arguments.predict:
            return predict_main(arguments.predict)
        return demo_main(arguments.out, arguments.epochs, arguments.seed)
    parser.print_help()
    return 2
