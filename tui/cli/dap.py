"""``loopdbg dap``: the debugger for editors, by the Debug Adapter Protocol."""

from __future__ import annotations

import argparse
import os
import socket
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...runtime.errors import ModelError, UsageError
from . import terminal
from .command import Command, at_least
from .options import add_trust_option

if TYPE_CHECKING:
    from ...debugger.session.debuggee import Debuggee


class Dap(Command):
    """Speaks with an editor on stdin and stdout, or with those that connect to a port of this machine."""

    name = "dap"
    summary = """\
The debugger for editors (VS Code, nvim-dap, dape), by the Debug Adapter
Protocol: on stdin and stdout, or on a port of this machine. The editor says
what to open, with 'launch' (a model) or 'attach' (a trace)."""
    examples = """\
launch: {"program": MODEL, "inputs": {NAME: VALUE}, "args": [OPTION, ...],
         "stopOnEntry": true, "stopAtEnd": true, "trustScript": false}
attach: {"trace": TRACE}

  "args" are options as 'loopdbg MODEL' takes them. A model that is a script
  runs only with "trustScript", or with --trust-script here.
  editors/README.md says what to write for each editor."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.usage = "loopdbg dap [--port N]"
        parser.add_argument(
            "--port", type=at_least(0, 65535), metavar="N", help="listen on this port of this machine (0: a free one)"
        )
        add_trust_option(parser)

    def load(self) -> None:
        from ...debugger.adapters.dap import adapter  # noqa: F401
        from . import launching  # noqa: F401

    def run(self, options: argparse.Namespace) -> int:
        if options.port is None:
            return self._on_streams(options)
        with socket.create_server(("127.0.0.1", options.port)) as server:
            terminal.out(f"listening on 127.0.0.1:{server.getsockname()[1]}; Ctrl-C ends it")
            sys.stdout.flush()
            while True:
                connection, _ = server.accept()
                with connection, connection.makefile("rwb") as stream:
                    self._serve(stream, stream, options)

    def _on_streams(self, options: argparse.Namespace) -> int:
        # What a model's script or an operator prints must not stand between messages.
        answers = os.fdopen(os.dup(1), "wb")
        os.dup2(2, 1)
        with answers:
            self._serve(sys.stdin.buffer, answers, options)
        return 0

    def _serve(self, incoming: Any, outgoing: Any, options: argparse.Namespace) -> None:
        from ...debugger.adapters.dap.adapter import Adapter
        from ...debugger.adapters.dap.messages import Messages

        def opens(arguments: Mapping[str, Any]) -> Debuggee:
            return _opened(arguments, options.trust_script)

        Adapter(Messages(incoming, outgoing), opens).serve()


def _opened(arguments: Mapping[str, Any], trusted: bool) -> Debuggee:
    """A model or a trace under the debugger.

    Raises:
        LoopdbgError: it cannot be opened; an argument makes no sense.
    """
    from ...runtime.frontends import is_database
    from .launching import given_inputs, opened

    trace = arguments.get("trace")
    program = trace or arguments.get("program")
    if not isinstance(program, str) or not program:
        raise UsageError("launch needs 'program', the path of a model; attach needs 'trace', that of a trace")
    more = arguments.get("args") or []
    if not (isinstance(more, list) and all(isinstance(word, str) for word in more)):
        raise UsageError('\'args\' is a list of texts, such as ["--seed", "1"]')
    words = [*given_inputs(arguments.get("inputs") or {}), *more]
    found = opened(program, words, trusted or arguments.get("trustScript") is True)
    if trace and not is_database(trace):
        raise ModelError(f"{trace}: this is no trace; launch opens models")
    return found
