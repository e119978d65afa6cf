"""``loopdbg info``: a model's signature and its loops, without running it."""

from __future__ import annotations

import argparse

from .. import terminal
from ..command import Command
from ..options import add_json_option, add_weights_option


class InfoCommand(Command):
    """Prints the loaded model; unsupported operators are listed and are no error."""

    name = "info"
    summary = """\
Show a model's inputs and outputs, the tree of its loops, and each loop's
ports and back edges."""
    examples = "exit status: 0 done, 1 bad model, 2 wrong usage"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.usage = "loopdbg info MODEL|TRACE [options]"
        parser.add_argument("model", metavar="MODEL", help="the model file: .onnx, .xml, ..., or a trace")
        add_weights_option(parser)
        add_json_option(parser)

    def import_implementation(self) -> None:
        from .. import model_or_trace  # noqa: F401
        from ..description import info_text, model_info  # noqa: F401

    def run(self, options: argparse.Namespace) -> int:
        from ..description.info_text import model_info_lines
        from ..description.model_info import describe_model
        from ..model_or_trace import load_model_or_trace

        description = describe_model(load_model_or_trace(options))
        if options.json:
            terminal.out_json(description)
        else:
            for line in model_info_lines(description):
                terminal.out(line)
        return 0
