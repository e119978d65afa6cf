"""``loopdbg check``: whether other runtimes load a model and compute the same."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..command import Command, int_at_least
from ..options import add_input_options, add_json_option, add_trust_option, parse_seconds

_TARGETS = ("onnxruntime", "openvino", "tensorrt", "specification")


class CheckCommand(Command):
    """Checks models against the rules of each target, and tries them in the runtimes that are installed."""

    name = "check"
    summary = """\
Check whether onnxruntime, OpenVINO and TensorRT load a model and do the same
with its loops, and whether the specification allows it: where it does not, which
rule says so, with what evidence, and what to change."""
    examples = """\
examples:
  loopdbg check model.onnx
  loopdbg check models/*.onnx --for onnxruntime,openvino --junit report.xml
  loopdbg check model.onnx --no-run --json
  loopdbg check model.onnx --for onnxruntime,openvino --fix -o fixed.onnx

Runtimes that are installed are tried as well, in a process of their own: the
whole model, and where that fails or differs each loop alone. Each line tells
whether a rule or a run says it. docs/check.md tells more.

--json: {"models": [{"model", "error", "targets": [{"target", "verdict",
"version", "findings": [{"rule", "verdict", "path", "node", "text", "evidence",
"remedy", "source", "confirmed"}], "trials", "contradictions"}], "diagnostics",
"fix"}]}
With --fix, the targets are those of the model that is written.

exit status: 0 fine for all targets, 1 something does not load or behaves
differently, or a bad input, 8 a runtime contradicts a rule, or unknown, 2 wrong
usage, 10 nothing but suspicious values in a run (docs/diagnostics.md), 130 interrupted"""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.usage = "loopdbg check MODEL... [options]"
        parser.add_argument("models", metavar="MODEL", nargs="+", help="the model files: .onnx, .xml, ...")
        parser.add_argument(
            "--for",
            dest="targets",
            type=_parse_targets,
            default=list(_TARGETS),
            metavar="TARGETS",
            help=f"only these, separated by commas: {', '.join(_TARGETS)}",
        )
        parser.add_argument(
            "--weights", action="append", default=[], metavar="FILE", help="the constants of the IRs, in their order"
        )
        add_trust_option(parser)
        trials = parser.add_argument_group("trials")
        trials.add_argument("--no-run", action="store_true", help="by rules alone: run nothing, take no inputs")
        trials.add_argument(
            "--timeout",
            type=parse_seconds,
            metavar="S",
            help="give a runtime up after S seconds without an answer (60)",
        )
        trials.add_argument(
            "--max-iterations", type=int_at_least(1), metavar="N", help="stop any loop of a trial after N iterations"
        )
        add_input_options(parser)
        fixes = parser.add_argument_group("fixes", "docs/check.md has their kinds.")
        fixes.add_argument(
            "--fix",
            action="store_true",
            help="write a model with the fixes that keep all results, bit for bit, and check it",
        )
        fixes.add_argument("-o", "--output", type=Path, metavar="OUT", help="the model that --fix writes")
        fixes.add_argument(
            "--fix-inputs", type=int_at_least(1), metavar="N", help="verify each fix on N random inputs (100)"
        )
        fixes.add_argument(
            "--fix-seconds", type=parse_seconds, metavar="S", help="verify a fix for at most about S seconds (10)"
        )
        output = parser.add_argument_group("output", "docs/ci.md tells more.")
        add_json_option(output)
        output.add_argument("--junit", type=Path, metavar="FILE", help="write the findings as JUnit XML")
        output.add_argument(
            "--github", action="store_true", help="annotate findings on GitHub, at the line of code that a node is from"
        )

    def import_implementation(self) -> None:
        from ..portability import execute  # noqa: F401

    def run(self, options: argparse.Namespace) -> int:
        from ..portability.execute import run_check

        return run_check(options)


def _parse_targets(text: str) -> list[str]:
    """An argparse type: targets, in the order of the report.

    Raises:
        argparse.ArgumentTypeError: There is no such target.
    """
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = next((name for name in names if name not in _TARGETS), None)
    if unknown is not None or not names:
        raise argparse.ArgumentTypeError(f"there is no target '{unknown or text}'; targets are {', '.join(_TARGETS)}")
    return [target for target in _TARGETS if target in names]
