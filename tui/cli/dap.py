"""``loopdbg dap``: the debugger for editors, by the Debug Adapter Protocol."""

from __future__ import annotations

import argparse
import os
import socket
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ...runtime.errors import ModelError, UsageError
from . import terminal
from .command import Command, at_least
from .options import add_run_options, add_trust_option, add_weights_option
from .trust import check_trust

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


class _Launch(Command):
    """What an editor asks for, as options of the command line."""

    name = "launch"
    summary = ""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("model")
        add_weights_option(parser)
        add_run_options(parser)

    def run(self, options: argparse.Namespace) -> int:
        raise NotImplementedError


def _opened(arguments: Mapping[str, Any], trusted: bool) -> Debuggee:
    """A model or a trace under the debugger.

    Raises:
        LoopdbgError: it cannot be opened; an argument makes no sense.
    """
    from ...runtime.frontends import is_database, split
    from .inputs import gather, to_run
    from .operator_files import load_operators

    trace = arguments.get("trace")
    program = trace or arguments.get("program")
    if not isinstance(program, str) or not program:
        raise UsageError("launch needs 'program', the path of a model; attach needs 'trace', that of a trace")
    if not split(program)[0].exists():
        raise ModelError(f"{program}: no such file")
    if is_database(program):
        from ...debugger.recording.reader import Trace
        from ...debugger.recording.replay import Replay

        return Replay(Trace.open(program))
    if trace:
        raise ModelError(f"{trace}: this is no trace; launch opens models")
    options = _Launch().parser().parse([program, *_words(arguments)])
    options.trust_script |= trusted or arguments.get("trustScript") is True
    check_trust(options, serving=True)
    load_operators(options)
    model = to_run(program, options.weights, options)
    from ...debugger.session.session import Session

    return Session(model, gather(model, options).values, max_iterations=options.max_iterations)


def _words(arguments: Mapping[str, Any]) -> Iterator[str]:
    """What an editor says, as it stands on a command line."""
    import json

    inputs = arguments.get("inputs") or {}
    if isinstance(inputs, str):
        yield from ("--inputs", inputs)
    elif isinstance(inputs, Mapping):
        for name, value in inputs.items():
            yield from ("--input", f"{name}={value if isinstance(value, str) else json.dumps(value)}")
    else:
        raise UsageError("'inputs' is a file, or an object of names and values")
    more = arguments.get("args") or []
    if not (isinstance(more, list) and all(isinstance(word, str) for word in more)):
        raise UsageError('\'args\' is a list of texts, such as ["--seed", "1"]')
    yield from more
