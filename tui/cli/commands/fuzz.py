"""``loopdbg fuzz``: searches inputs that expose a fault."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..command import Command, int_at_least
from ..options import add_assert_option, add_json_option, add_weights_option, parse_seconds


class FuzzCommand(Command):
    """Searches inputs that expose a fault of a model, guided by the values and decisions of its loops."""

    name = "fuzz"
    summary = """\
Search inputs with which a loop never ends, an index is out of range, outputs
differ from another runtime or model, or an assertion fails. Each is shrunk to
the smallest one, written as a case, and shown next to inputs that pass."""
    examples = """\
examples:
  loopdbg fuzz newton_sqrt.onnx
  loopdbg fuzz model.onnx --against onnxruntime --time 300 -o findings/ --junit report.xml
  loopdbg fuzz decoder.onnx --against reference.onnx --where 'ids in 0..255'
  loopdbg fuzz model.onnx --assert 'all(p >= 0)' --invariants model.invariants
  loopdbg run model.onnx --inputs findings/findings/endless-1.npz -i

The same command goes on where the last one stopped. docs/fuzz.md tells more.

exit status: 0 nothing found, 7 an assertion failed, 6 outputs differ, 1 an
error or a process that was lost, 4 endless loops and timeouts alone, 2 wrong
usage, 130 interrupted"""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.usage = "loopdbg fuzz MODEL [options]"
        parser.add_argument("model", metavar="MODEL", help="the model file (.onnx, .xml, ...)")
        add_weights_option(parser)
        self._add_input_options(parser)
        self._add_fault_options(parser)
        group = parser.add_argument_group("how it runs")
        group.add_argument("--time", type=parse_seconds, default=60.0, metavar="S", help="how long (60)")
        group.add_argument(
            "-o", "--output", type=Path, metavar="DIR", help="the folder of inputs and findings (MODEL.fuzz)"
        )
        group.add_argument(
            "-j", "--jobs", type=int_at_least(1, 4096), metavar="N", help="N processes (one a processor)"
        )
        group.add_argument(
            "--dask", metavar="ADDRESS", help="on the Dask cluster at an address; 'local' starts one of -j workers"
        )
        group.add_argument("--junit", type=Path, metavar="FILE", help="a report for CI, a test a finding")
        add_json_option(group)

    def _add_input_options(self, parser: argparse.ArgumentParser) -> None:
        group = parser.add_argument_group("inputs")
        group.add_argument(
            "--dim",
            action="append",
            default=[],
            metavar="NAME=N",
            help="size of an unknown dimension, also as LOW..HIGH (0..8); repeatable",
        )
        group.add_argument(
            "--where",
            action="append",
            default=[],
            metavar="CONSTRAINT",
            help="'x in 0..1', 'x finite', 'x sorted', 'x unique', 'x sum 1', or a condition over the inputs; "
            "repeatable",
        )
        group.add_argument("--seed", type=int_at_least(0), default=0, metavar="S", help="the seed of all rounds (0)")

    def _add_fault_options(self, parser: argparse.ArgumentParser) -> None:
        group = parser.add_argument_group("what is a fault")
        group.add_argument(
            "--against",
            default="",
            metavar="PEER|MODEL",
            help="outputs that differ from those of onnxruntime, openvino, 'cmd:PROGRAM {model} {inputs} {outputs}', "
            "or of another model; what both reject is none",
        )
        add_assert_option(group, "EXPR is false at a boundary; repeatable")
        group.add_argument("--invariants", type=Path, metavar="FILE", help="a line of FILE is: as --assert @FILE")
        group.add_argument(
            "--max-iterations",
            type=int_at_least(1),
            metavar="N",
            help="examine after N iterations whether a loop ever ends (2000)",
        )
        group.add_argument(
            "--timeout",
            type=parse_seconds,
            metavar="S",
            help="a run takes more than S seconds (10; 60 with --against)",
        )

    def import_implementation(self) -> None:
        from ..fuzzing import execute  # noqa: F401

    def run(self, options: argparse.Namespace) -> int:
        from ..fuzzing.execute import run_fuzz

        return run_fuzz(options)
