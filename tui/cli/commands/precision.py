"""``loopdbg precision``: where a model loses precision in a narrower type."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..command import Command
from ..options import add_json_option, add_run_options, add_weights_option, parse_seconds, parse_tolerance


class PrecisionCommand(Command):
    """Runs a model in a narrower type next to the same run in float32."""

    name = "precision"
    summary = """\
Show from the float32 model alone how it does in float16, bfloat16 or int8: the
errors of its outputs, how they grow with the iterations, which nodes cause
them, what overflows; and with --tolerance which nodes have to stay float32."""
    examples = """\
examples:
  loopdbg precision model.onnx --inputs x.npz
  loopdbg precision model.onnx --as bfloat16 --tolerance 1e-3
  loopdbg precision model.onnx --as 'float16:*MatMul*' --keep node_norm
  loopdbg precision model.onnx --as int8 --metric snr
  loopdbg precision model.onnx --tolerance 1e-3 --save mixed.onnx

A tolerance is a relative error of the outputs: the largest difference, divided
by the largest number. A loop that runs more or fewer iterations exceeds any.

exit status: 0 done, 1 bad model or input, 2 wrong usage, 4 a limit hit,
130 interrupted"""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.usage = "loopdbg precision MODEL [options]"
        parser.add_argument("model", metavar="MODEL", help="the model file (.onnx, .xml, ...), in float32")
        add_weights_option(parser)
        parser.add_argument(
            "--as",
            dest="type_name",
            default="float16",
            metavar="TYPE[:NODES]",
            help="float16 (where not given), bfloat16 or int8; NODES: only these, by names or patterns, with commas"
            " between; of int8 all products and convolutions where not given",
        )
        parser.add_argument(
            "--keep",
            default="",
            metavar="NODES",
            help="nodes that stay float32, by names or patterns, with commas between",
        )
        parser.add_argument(
            "--tolerance",
            type=parse_tolerance,
            metavar="R",
            help="find the nodes that have to stay float32 for a relative error of R at most",
        )
        parser.add_argument(
            "--metric",
            choices=("relative", "absolute", "ulp", "snr", "cosine"),
            default="relative",
            help="of the errors by iteration (relative); ulp: units of the last place",
        )
        parser.add_argument(
            "--block-list",
            choices=("onnxconverter-common", "polygraphy", "nncf"),
            default="onnxconverter-common",
            help="print the nodes that have to stay float32 for this tool (onnxconverter-common)",
        )
        parser.add_argument(
            "--save",
            type=Path,
            metavar="FILE",
            help="write the model with Casts around the other nodes, or with them quantised (ONNX)",
        )
        parser.add_argument(
            "--seconds", type=parse_seconds, default=30.0, metavar="S", help="how long nodes are tried, about (30)"
        )
        add_json_option(parser)
        add_run_options(parser)

    def import_implementation(self) -> None:
        from ..execution import precision_run  # noqa: F401

    def run(self, options: argparse.Namespace) -> int:
        from ..execution.precision_run import run_precision

        return run_precision(options)
