"""``loopdbg profile``: where a run spends its time and memory."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..command import Command, int_at_least
from ..comparison.peer_spec import parse_runtime
from ..options import add_json_option, add_run_options, add_weights_option, parse_seconds


class ProfileCommand(Command):
    """Measures a run by loop, iteration and node, next to another runtime's."""

    name = "profile"
    summary = """\
Measure where a run spends its time and memory: by loop, iteration, node and
boundary, and what each carried value and scan output needs; next to another
runtime's times."""
    examples = """\
examples:
  loopdbg profile lstm.xml
  loopdbg profile model.onnx --inputs x.npz --against onnxruntime
  loopdbg profile model.onnx -o iterations.svg -o run.perfetto.json
  loopdbg profile model.onnx --json

-o draws the time of each iteration (.png, .svg, .pdf), or writes a timeline
of mean times, for Perfetto (.perfetto.json) or speedscope (.speedscope.json).

exit status: 0 done, 1 bad model or input, 2 wrong usage, 4 a limit hit,
130 interrupted"""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.usage = "loopdbg profile MODEL [options]"
        parser.add_argument("model", metavar="MODEL", help="the model file (.onnx, .xml, ...)")
        add_weights_option(parser)
        parser.add_argument(
            "--against", type=parse_runtime, metavar="PEER", help="measure onnxruntime or openvino too, with one thread"
        )
        parser.add_argument(
            "--roofline", action="store_true", help="compare nodes with what this machine reaches, which is measured"
        )
        parser.add_argument("--nodes", type=int_at_least(1), default=20, metavar="N", help="the nodes listed (20)")
        parser.add_argument(
            "--seconds", type=parse_seconds, default=1.0, metavar="S", help="how long it is measured, about (1)"
        )
        parser.add_argument(
            "-o", "--output", type=Path, action="append", default=[], metavar="FILE", help="a figure or a timeline"
        )
        add_json_option(parser)
        add_run_options(parser)

    def import_implementation(self) -> None:
        from ..execution import profile_run  # noqa: F401

    def run(self, options: argparse.Namespace) -> int:
        from ..execution.profile_run import run_profile

        return run_profile(options)
