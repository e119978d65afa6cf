"""``loopdbg serve``: the screen in a browser, for this machine alone."""

from __future__ import annotations

import argparse

from ..command import Command, int_at_least
from ..options import add_run_options, add_weights_option, add_write_option


class ServeCommand(Command):
    """Runs a web server; each page gets its own debugger."""

    name = "serve"
    summary = """\
Open the debugger in a browser: on this machine alone, and for whoever has the
token in the address that is printed."""
    examples = """\
examples:
  loopdbg serve newton_sqrt.onnx --input a=2
  loopdbg serve run.loopdb --port 8200

needs textual-serve: pip install 'loopdbg[serve]'"""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.usage = "loopdbg serve MODEL|TRACE [options]"
        parser.add_argument("model", metavar="MODEL", help="the model file, or a trace")
        add_weights_option(parser)
        group = parser.add_argument_group("serving")
        group.add_argument("--port", type=int_at_least(1, 65535), metavar="N", help="the port (a free one)")
        group.add_argument(
            "--host", default="127.0.0.1", metavar="ADDRESS", help="where to listen (127.0.0.1: this machine alone)"
        )
        group.add_argument(
            "--no-token", action="store_true", help="let anyone in who reaches the port: they can run the model"
        )
        add_write_option(group, "a page")
        add_run_options(parser)

    def import_implementation(self) -> None:
        from ..servers import web_server  # noqa: F401

    def run(self, options: argparse.Namespace) -> int:
        from ..servers.web_server import run_web_server

        return run_web_server(options)
