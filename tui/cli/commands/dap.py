"""``loopdbg dap``: the debugger for editors, by the Debug Adapter Protocol."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ....runtime.errors import ModelError, UsageError
from .. import terminal
from ..command import Command, int_at_least
from ..options import add_trust_option

if TYPE_CHECKING:
    from ....debugger.session.session import Session


class DapCommand(Command):
    """Serves an editor on stdin and stdout, or clients on a local port."""

    name = "dap"
    summary = """\
The debugger for editors (VS Code, nvim-dap, dape), by the Debug Adapter
Protocol: on stdin and stdout, or on a port of this machine. The editor says
what to open, with 'launch' (a model) or 'attach' (a trace)."""
    examples = """\
launch: {"program": MODEL, "inputs": {NAME: VALUE}, "seed": N,
         "maxIterations": N, "stopOnEntry": true, "stopAtEnd": true}
attach: {"trace": TRACE}

  On a port, both need the "token" that is printed at the start; the variable
  LOOPDBG_DAP_TOKEN sets one that stays the same. A model that is a script runs
  only with --trust-script here, whatever the editor asks for.
  editors/README.md says what to write for each editor."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.usage = "loopdbg dap [--port N] [--trust-script]"
        parser.add_argument(
            "--port",
            type=int_at_least(0, 65535),
            metavar="N",
            help="listen on this port of this machine (0: a free one)",
        )
        add_trust_option(parser)

    def import_implementation(self) -> None:
        from ....debugger.frontends.dap import server  # noqa: F401
        from ..servers import client_session  # noqa: F401

    def run(self, options: argparse.Namespace) -> int:
        def open_(arguments: Mapping[str, Any]) -> Session:
            return _open_session(arguments, options.trust_script)

        return _serve_streams(open_) if options.port is None else _serve_port(open_, options.port)


def _serve_streams(open_session: Any) -> int:
    from ....debugger.frontends.dap.adapter import DapAdapter
    from ....debugger.frontends.dap.messages import DapMessageStream

    # Output of model scripts and operators must not mix with the messages.
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    with output:
        DapAdapter(DapMessageStream(sys.stdin.buffer, output), open_session).serve()
    return 0


def _serve_port(open_session: Any, port: int) -> int:
    """Serve clients one after the other until Ctrl-C."""
    from ....debugger.frontends.dap.server import (
        HOST,
        disconnect_message,
        listen,
        resolve_token,
        serve_client,
        token_notice,
    )

    token = resolve_token()
    with listen(port) as server:
        terminal.out(f"listening on {HOST}:{server.getsockname()[1]} with {token_notice(token)}; Ctrl-C ends it")
        sys.stdout.flush()
        while True:
            try:
                connection, _ = server.accept()
            except ConnectionError:  # the client disconnected before it was accepted
                continue
            admitted, reason = serve_client(connection, open_session, token)
            if reason or not admitted:
                terminal.err(f"loopdbg: {disconnect_message(reason)}")


def _open_session(arguments: Mapping[str, Any], trusted: bool) -> Session:
    """Open a session of a model or a trace.

    Raises:
        LoopdbgError: The file cannot be opened, or an argument is invalid.
    """
    from ....runtime.frontends import is_sqlite_file
    from ..servers.client_session import open_session, parse_settings

    trace = arguments.get("trace")
    program = trace or arguments.get("program")
    if not isinstance(program, str) or not program:
        raise UsageError("launch needs 'program', the path of a model; attach needs 'trace', that of a trace")
    if arguments.get("args"):
        raise UsageError("'args' is not read: use 'seed', 'maxIterations', 'dims' and the other arguments of launch")
    session = open_session(program, parse_settings(arguments), trusted)
    if trace and not is_sqlite_file(trace):
        raise ModelError(f"{trace}: this is no trace; launch opens models")
    return session
