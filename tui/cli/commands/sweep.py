"""``loopdbg sweep``: models on many inputs."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..command import Command, int_at_least
from ..options import (
    add_assert_option,
    add_case_options,
    add_coverage_option,
    add_json_option,
    add_trust_option,
    parse_condition,
    parse_gigabytes,
    parse_seconds,
)


class SweepCommand(Command):
    """Runs models on many inputs in worker processes that may crash or hang, and reports the result of each case."""

    name = "sweep"
    summary = """\
Run models on many inputs: which of them never ends, fails an assertion, takes
ten times the iterations, differs in another runtime? A row for each case and
loop; what crashes or hangs costs its own case alone."""
    examples = """\
examples:
  loopdbg sweep newton_sqrt.onnx --random 10000 --max-iterations 100
  loopdbg sweep model.onnx --inputs cases/ --assert 'err < 1' --measure err
  loopdbg sweep model.onnx --inputs 'data/*.npz' --against onnxruntime -o out.parquet
  loopdbg sweep models/*.onnx --timeout 10 --junit report.xml
  loopdbg sweep model.onnx --inputs cases.npz --batched --dask tcp://host:8786
  loopdbg run model.onnx --inputs cases/ --case 17 -i --at first

The rows are in OUT.sweepdb (SQLite) from the first on; --resume goes on with what
it lacks. docs/sweep.md tells more.

exit status: 0 done, 7 an assertion failed, 3 a breakpoint hit, 6 outputs differ,
1 an error or a process that was lost, 4 limits and timeouts alone, 2 wrong usage,
130 interrupted"""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.usage = "loopdbg sweep MODEL... [options]"
        parser.add_argument("models", metavar="MODEL", nargs="+", help="the model files; each runs on all cases")
        parser.add_argument(
            "--weights", action="append", default=[], metavar="FILE", help="the constants of the IRs, in their order"
        )
        add_trust_option(parser)
        add_case_options(parser)
        self._add_check_options(parser)
        self._add_execution_options(parser)

    def _add_check_options(self, parser: argparse.ArgumentParser) -> None:
        group = parser.add_argument_group("what is asked of each")
        add_assert_option(
            group, "EXPR must hold at every boundary, or each line of FILE (loopdbg invariants); repeatable"
        )
        group.add_argument(
            "--break",
            dest="breaks",
            type=parse_condition,
            action="append",
            default=[],
            metavar="EXPR|nan",
            help="end a case where EXPR is true, or a NaN or Inf comes up; repeatable",
        )
        group.add_argument(
            "--measure",
            dest="measures",
            action="append",
            default=[],
            metavar="EXPR",
            help="a number at the end of each loop, which becomes a column; repeatable",
        )
        group.add_argument(
            "--against",
            default="",
            metavar="PEER|MODEL|DIR",
            help="compare the outputs with those of onnxruntime, openvino or 'cmd:PROGRAM {model} {inputs} {outputs}', "
            "of another model, or in files that are called as the cases are",
        )
        add_coverage_option(group)
        group.add_argument(
            "--max-iterations", type=int_at_least(1), metavar="N", help="stop any loop after N iterations"
        )
        group.add_argument("--timeout", type=parse_seconds, metavar="S", help="give a case up after S seconds (60)")
        group.add_argument(
            "--max-memory",
            type=parse_gigabytes,
            metavar="GB",
            help="give a case up whose loops collect more than that (2)",
        )

    def _add_execution_options(self, parser: argparse.ArgumentParser) -> None:
        group = parser.add_argument_group("how it runs")
        group.add_argument(
            "-j", "--jobs", type=int_at_least(1, 4096), metavar="N", help="N processes (one a processor)"
        )
        group.add_argument(
            "--dask", metavar="ADDRESS", help="on the Dask cluster at an address; 'local' starts one of -j workers"
        )
        group.add_argument("-o", "--output", type=Path, metavar="FILE", help=".parquet, .csv, or .sweepdb alone")
        group.add_argument("--resume", action="store_true", help="go on with what the output's .sweepdb lacks")
        group.add_argument("--force", action="store_true", help="overwrite the rows of an earlier sweep")
        group.add_argument("--junit", type=Path, metavar="FILE", help="a report for CI, a test a case")
        add_json_option(group)

    def import_implementation(self) -> None:
        from ..sweeps import execute  # noqa: F401

    def run(self, options: argparse.Namespace) -> int:
        from ..sweeps.execute import run_sweep

        return run_sweep(options)
