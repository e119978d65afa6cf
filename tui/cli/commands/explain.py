"""``loopdbg explain``: each loop of a model as pseudo-code, its ports, and how it ends, without running it."""

from __future__ import annotations

import argparse

from ..command import Command
from ..options import add_json_option, add_weights_option

#: The values of ``runtime.graph.System``, repeated here so that ``--help`` need not import it.
SYSTEM_NAMES = ("onnx", "openvino", "tensorrt")


class ExplainCommand(Command):
    """Explains loops in the vocabulary of their own system or of another."""

    name = "explain"
    summary = """\
Show each loop of a model as pseudo-code, with its inputs, carried values and
outputs, and say what ends it. Nothing is run."""
    examples = """\
examples:
  loopdbg explain newton_sqrt.onnx
  loopdbg explain lstm.xml --as onnx
  loopdbg explain nested.onnx --loop inner --as tensorrt

--as reads the loop in another system's words: what would have to be added
is listed under 'needs', what that system cannot say under 'cannot'.

exit status: 0 done, 1 bad model, 2 wrong usage"""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.usage = "loopdbg explain MODEL|TRACE [options]"
        parser.add_argument("model", metavar="MODEL", help="the model file: .onnx, .xml, ..., or a trace")
        add_weights_option(parser)
        parser.add_argument(
            "--as",
            dest="system",
            choices=SYSTEM_NAMES,
            help="the system whose words to use; the model's own by default",
        )
        parser.add_argument("--loop", metavar="NAME", help="only the loop of this name or path")
        add_json_option(parser)

    def import_implementation(self) -> None:
        from ..description import explanation  # noqa: F401

    def run(self, options: argparse.Namespace) -> int:
        from ..description.explanation import run_explain

        return run_explain(options)
