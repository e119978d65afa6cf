"""``loopdbg info``: a model's signature and its loops, without running it."""

from __future__ import annotations

import argparse

from . import terminal
from .command import Command
from .options import add_weights_option


class Info(Command):
    """Prints what the front end read; operators that cannot be run are listed, and are no error here."""

    name = "info"
    summary = """\
Show a model's inputs and outputs, the tree of its loops, and each loop's
ports and back edges."""
    examples = "exit status: 0 done, 1 bad model, 2 wrong usage"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.usage = "loopdbg info MODEL|TRACE [options]"
        parser.add_argument("model", metavar="MODEL", help="the model file: .onnx, .xml, ..., or a trace")
        add_weights_option(parser)
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def load(self) -> None:
        from . import info_lines, loop_info, recorded  # noqa: F401

    def run(self, options: argparse.Namespace) -> int:
        from .info_lines import lines
        from .loop_info import describe
        from .recorded import model_of

        told = describe(model_of(options))
        if options.json:
            terminal.out_json(told)
        else:
            for line in lines(told):
                terminal.out(line)
        return 0
