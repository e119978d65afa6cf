"""``loopdbg test``: the cases that are stored next to models."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..command import Command, int_at_least
from ..options import add_coverage_option, add_json_option, add_trust_option, parse_seconds


class TestCommand(Command):
    """Runs the cases that are stored next to models, and compares their outputs."""

    name = "test"
    summary = """\
Run the cases that are stored next to models, and compare: ONNX test data, .npz
files with inputs and expected outputs, findings of fuzz. A case passes if it
ends, its assertions hold, and its outputs are as expected."""
    examples = """\
examples:
  loopdbg test models/
  loopdbg test model.onnx --coverage --junit report.xml --github
  loopdbg test models/ --coverage cov.html --timeout 10

Cases of model.onnx: model.*.npz, model/*.npz, model/test_data_set_*, the findings
in model.fuzz/; where it is the only model of its folder, all .npz files and
test_data_set_* there. Of an .npz, entries named as outputs, or expected_NAME,
are expected.

exit status: 0 all pass, 5 outputs are not as expected, 7 an assertion failed,
1 a case cannot run, or no case is found, 2 wrong usage, 4 limits alone,
124 --timeout alone, 130 interrupted"""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.usage = "loopdbg test MODEL|FOLDER... [options]"
        parser.add_argument("paths", metavar="MODEL|FOLDER", nargs="+", help="models, or folders of them")
        add_trust_option(parser)
        parser.add_argument(
            "--max-iterations", type=int_at_least(1), metavar="N", help="stop any loop after N iterations"
        )
        parser.add_argument("--timeout", type=parse_seconds, metavar="S", help="give a case up after S seconds (60)")
        parser.add_argument(
            "-j", "--jobs", type=int_at_least(1, 4096), metavar="N", help="N processes (one a processor)"
        )
        add_coverage_option(parser)
        parser.add_argument("--junit", type=Path, metavar="FILE", help="a report for CI, a test a case")
        parser.add_argument("--github", action="store_true", help="annotate failures on GitHub")
        add_json_option(parser)

    def import_implementation(self) -> None:
        from ..sweeps import stored_test_run  # noqa: F401

    def run(self, options: argparse.Namespace) -> int:
        from ..sweeps.stored_test_run import run_stored_tests

        return run_stored_tests(options)
