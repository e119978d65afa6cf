"""``loopdbg run``: a model headless, at full speed."""

from __future__ import annotations

import argparse
from pathlib import Path

from ...config import PEER_EXAMPLE_DEVICES
from ..command import Command
from ..options import (
    add_ci_options,
    add_coverage_option,
    add_diagnose_options,
    add_json_option,
    add_record_options,
    add_run_options,
    add_session_options,
    add_weights_option,
)


class RunCommand(Command):
    """Runs a model to its end and prints outputs, iterations and times."""

    name = "run"
    summary = """\
Run a model headless, at full speed; print its outputs, its iterations and
the time they took."""
    examples = """\
examples:
  loopdbg run lstm.xml --inputs x.npz --output y.npz
  loopdbg run newton_sqrt.onnx --input a=2 --input tol=1e-6 --json
  loopdbg run newton_sqrt.onnx --break 'err < 1e-3'
  loopdbg run newton_sqrt.onnx -ex 'break iter 3' -ex continue -ex 'print x' --batch
  loopdbg run newton_sqrt.onnx --record run.loopdb
  loopdbg run model.onnx --as onnxruntime -i
  curl -s URL | loopdbg run - --seed 1
  loopdbg run model.onnx --assert 'x > 0' --timeout 60 --junit report.xml --github
  loopdbg run model.onnx --diagnose --timeout 600 --github
  loopdbg run run.loopdb -ex 'watch x settles 1e-3' -ex continue --batch

--json prints the result, or where a session stopped; --json-schema lists its fields.

With --break, --assert, -x or -ex the model runs in a session, or a trace is
gone through in its place; 'help' is the command that lists the commands.

exit status: 0 done, 1 bad model or input, 2 wrong usage, 3 stopped by --break,
4 a limit hit, 5 outputs are not as expected, 7 --assert failed, 10 --diagnose has
findings, 124 --timeout, 130 interrupted"""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.usage = "loopdbg run MODEL|TRACE [options]"
        parser.add_argument("model", metavar="MODEL", help="the model file (.onnx, .xml, ...), or a trace; - is stdin")
        add_weights_option(parser)
        add_run_options(parser)
        add_record_options(parser)
        parser.add_argument("--output", metavar="OUT", help="save outputs: .npz, .safetensors, .parquet or DIR/")
        parser.add_argument(
            "--expect",
            type=Path,
            metavar="FILE|DIR",
            help="compare the outputs with those of an .npz file or of output_0.pb, ... in a folder; "
            "ONNX test data that gives the inputs is compared in any case",
        )
        parser.add_argument(
            "--as",
            dest="as_runtime",
            choices=tuple(PEER_EXAMPLE_DEVICES),
            help="step by the rules of a runtime where they are not those of the specification (docs/peers.md)",
        )
        add_diagnose_options(parser)
        add_coverage_option(parser)
        add_json_option(parser)
        add_session_options(parser)
        add_ci_options(parser)

    def import_implementation(self) -> None:
        from ..execution import headless  # noqa: F401

    def run(self, options: argparse.Namespace) -> int:
        from ..execution.headless import run_headless

        return run_headless(options)
