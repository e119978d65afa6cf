"""``loopdbg diff``: compares two runs, or a run and a live peer."""

from __future__ import annotations

import argparse

from ..command import Command
from ..comparison.peer_spec import parse_peer_spec
from ..options import add_json_option, add_run_options, add_two_weights_option, parse_seconds, parse_tolerance


class DiffCommand(Command):
    """Compares two runs boundary by boundary."""

    name = "diff"
    summary = """\
Compare two runs: two models, two traces, a model and a trace, a model and the
values of a reference (.npz, ONNX test data), or a model and another runtime.
Tells the first iteration and node that differ, how often each loop ran, and how
the difference grows."""
    examples = """\
examples:
  loopdbg diff model.onnx converted.xml
  loopdbg diff model.onnx run.loopdb --loop decode
  loopdbg diff model.onnx reference.npz
  loopdbg diff model.onnx --against onnxruntime --json
  loopdbg diff model.onnx --against torch:program.pt2

exit status: 0 the same, 6 they differ, 4 the same up to a limit (or a loop that
nothing can end), 9 the same within one quantisation step, 8 not all could be
compared (a value that one side lacks, a peer that refused, crashed or differs
from itself), 1 bad model or input, 2 wrong usage, 130 interrupted"""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.usage = "loopdbg diff A B [options]\n       loopdbg diff MODEL --against PEER [options]"
        parser.add_argument("a", metavar="A", help="a model or a trace")
        parser.add_argument("b", metavar="B", nargs="?", help="what to compare it with")
        add_two_weights_option(parser)
        add_run_options(parser)
        group = parser.add_argument_group("comparing")
        group.add_argument("--rtol", type=parse_tolerance, metavar="R", help="relative tolerance of floats (by dtype)")
        group.add_argument("--atol", type=parse_tolerance, metavar="T", help="absolute tolerance of floats (by dtype)")
        group.add_argument(
            "--loop", action="append", default=[], metavar="NAME", help="only this loop, by name or path; repeatable"
        )
        group.add_argument(
            "--map", action="append", default=[], metavar="A=B", help="loop or value A is called B there; repeatable"
        )
        group.add_argument(
            "--against",
            type=parse_peer_spec,
            metavar="PEER",
            help="compare with a runtime, live: onnxruntime, openvino; on a device: onnxruntime:CUDA, openvino:GPU; or "
            "with torch:FILE.pt2, the PyTorch program that the model was exported from; or with any program: "
            "'cmd:PROGRAM {model} {inputs} {outputs}'",
        )
        group.add_argument("--lockstep", action="store_true", help="the peer from our values in each iteration, alone")
        group.add_argument("--free", action="store_true", help="the peer runs the whole model, alone")
        group.add_argument(
            "--timeout", type=parse_seconds, metavar="S", help="give the peer up after S seconds without an answer (60)"
        )
        group.add_argument(
            "--peer-option",
            action="append",
            default=[],
            metavar="K=V",
            help="a setting of the peer by its own name: a property of OpenVINO's CPU plugin, an attribute or entry of "
            "onnxruntime's SessionOptions; repeatable",
        )
        group.add_argument(
            "--ort-custom-ops",
            action="append",
            default=[],
            metavar="LIB.so",
            help="a library with operators that onnxruntime is to load; repeatable",
        )
        add_json_option(parser)

    def import_implementation(self) -> None:
        from ..comparison import execute  # noqa: F401

    def run(self, options: argparse.Namespace) -> int:
        from ..comparison.execute import run_diff

        return run_diff(options)
