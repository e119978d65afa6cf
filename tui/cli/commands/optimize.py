"""``loopdbg optimize``: rewrites that make a model faster."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..command import Command, int_at_least
from ..options import add_json_option, add_run_options, add_weights_option, parse_seconds


class OptimizeCommand(Command):
    """Finds rewrites, verifies and measures each, and writes the model with all of them."""

    name = "optimize"
    summary = """\
Find rewrites that make a model faster: unused values of loops, repeated work,
loops that one operator replaces. Each is verified on many inputs, and its gain
is measured here and in the model's own runtime."""
    examples = """\
examples:
  loopdbg optimize model.onnx
  loopdbg optimize model.onnx --inputs x.npz -o faster.onnx
  loopdbg optimize model.onnx --only lstm,scan

exit status: 0 done, 1 bad model or input, 2 wrong usage, 4 a limit hit,
130 interrupted"""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.usage = "loopdbg optimize MODEL [options]"
        parser.add_argument("model", metavar="MODEL", help="the model file (.onnx, .xml)")
        add_weights_option(parser)
        parser.add_argument(
            "--only", default="", metavar="KINDS", help="these kinds of rewrites alone, with commas between"
        )
        parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write the model with all rewrites")
        parser.add_argument(
            "--count", type=int_at_least(1), default=1000, metavar="N", help="verify on N inputs (1000)"
        )
        parser.add_argument(
            "--seconds",
            type=parse_seconds,
            default=60.0,
            metavar="S",
            help="how long rewrites are verified and measured, about (60)",
        )
        add_json_option(parser)
        add_run_options(parser)

    def import_implementation(self) -> None:
        from ..execution import optimize_run  # noqa: F401

    def run(self, options: argparse.Namespace) -> int:
        from ..execution.optimize_run import run_optimize

        return run_optimize(options)
