"""``loopdbg invariants``: what held in good runs, as assertions for others."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..command import Command, int_at_least
from ..options import add_case_options, add_json_option, add_weights_option


class InvariantsCommand(Command):
    """Mines assertions that hold at every boundary of runs on a set of inputs."""

    name = "invariants"
    summary = """\
Find what holds at every boundary of good runs, as assertions to check the next
export with: signs, bounds, order, shapes by iteration, sums of 1."""
    examples = """\
examples:
  loopdbg invariants decoder.onnx --inputs cases/ -o decoder.invariants
  loopdbg run next_export.onnx --assert @decoder.invariants
  loopdbg sweep next_export.onnx --inputs cases/ --assert @decoder.invariants

The file has an assertion a line, which can be edited. docs/diagnostics.md tells
more.

exit status: 0 done, 1 bad model or input, 2 wrong usage, 130 interrupted"""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.usage = "loopdbg invariants MODEL [options]"
        parser.add_argument("model", metavar="MODEL", help="the model file (.onnx, .xml, ...)")
        add_weights_option(parser)
        add_case_options(parser)
        parser.add_argument(
            "--max-iterations",
            type=int_at_least(1),
            metavar="N",
            help="leave out runs in which a loop takes more (10000)",
        )
        parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write the assertions to a file")
        add_json_option(parser)

    def import_implementation(self) -> None:
        from ..execution import invariants_run  # noqa: F401

    def run(self, options: argparse.Namespace) -> int:
        from ..execution.invariants_run import run_invariants

        return run_invariants(options)
