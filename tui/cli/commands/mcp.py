"""``loopdbg mcp``: the debugger for agents, by the Model Context Protocol."""

from __future__ import annotations

import argparse

from ..command import Command
from ..options import add_trust_option, add_write_option


class McpCommand(Command):
    """Serves one agent on stdin and stdout."""

    name = "mcp"
    summary = """\
The debugger for agents, by the Model Context Protocol on stdin and stdout: tools
to open a model, step, go back, print, ask why, compare."""
    examples = """\
example of a client's settings:
  {"mcpServers": {"loopdbg": {"command": "loopdbg", "args": ["mcp"]}}}

needs the package mcp: pip install 'loopdbg[mcp]'"""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.usage = "loopdbg mcp [options]"
        add_write_option(parser, "the agent")
        add_trust_option(parser)

    def import_implementation(self) -> None:
        from ..servers import mcp_server  # noqa: F401

    def run(self, options: argparse.Namespace) -> int:
        from ..servers.mcp_server import run_mcp_server

        return run_mcp_server(options)
