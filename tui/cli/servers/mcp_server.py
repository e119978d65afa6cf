"""Implements ``loopdbg mcp``: opens and compares models for an agent."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from typing import Any

from ....debugger.frontends.mcp.server import create_server
from ....debugger.frontends.mcp.tools import McpTools
from ....debugger.session.session import Session
from ....runtime.errors import UsageError
from ..commands.diff import DiffCommand
from ..comparison import execute
from ..comparison.peer_spec import PeerSpec
from ..trust import check_trust
from .client_session import check_path_exists, open_session, parse_settings


def run_mcp_server(options: argparse.Namespace) -> int:
    """Serve one agent until it disconnects."""

    def open_file(arguments: Mapping[str, Any]) -> Session:
        values = {**arguments, "maxIterations": arguments["max_iterations"]}
        return open_session(arguments["path"], parse_settings(values), options.trust_script)

    def compare(a: str, b: str, against: str, inputs: Mapping[str, Any]) -> Iterable[str]:
        for path in (a, *([b] if b else [])):
            check_path_exists(path)
        comparison = DiffCommand().parser().parse([""])
        vars(comparison).update(parse_settings({"inputs": inputs}), a=a, b=b or None, trust_script=options.trust_script)
        comparison.against = PeerSpec(against) if against else None
        check_trust(comparison, serving=True, may_ask=False)
        return execute.diff_report_lines(comparison)

    agent = McpTools(open_file, compare, options.allow_write)
    server = create_server(agent)
    try:
        server.run("stdio")
    except KeyboardInterrupt:
        raise
    except OSError as error:
        raise UsageError(f"the agent is gone: {error.strerror or error}") from None
    return 0
