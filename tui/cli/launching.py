"""Models and traces that another front end names, opened as ``loopdbg MODEL`` would."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...debugger.session.debuggee import Debuggee
from ...debugger.session.session import Session
from ...runtime.errors import ModelError, UsageError
from ...runtime.frontends import is_database, split
from .command import Parser
from .inputs import gather, to_run
from .operator_files import load_operators
from .options import add_run_options, add_weights_option
from .trust import check_trust


def _parser() -> Parser:
    """What is asked for, as options of the command line."""
    parser = Parser(prog="launch", allow_abbrev=False, add_help=False)
    parser.add_argument("model")
    add_weights_option(parser)
    add_run_options(parser)
    return parser


def opened(path: str, words: Sequence[str], trusted: bool) -> Debuggee:
    """A model or a trace under the debugger; ``words``: options as ``loopdbg MODEL`` takes them.

    Raises:
        LoopdbgError: it cannot be opened, or an option makes no sense.
    """
    if not split(path)[0].exists():
        raise ModelError(f"{path}: no such file")
    if is_database(path):
        from ...debugger.recording.reader import Trace
        from ...debugger.recording.replay import Replay

        return Replay(Trace.open(path))
    options = _parser().parse([path, *words])
    options.trust_script |= trusted
    check_trust(options, serving=True)
    load_operators(options)
    model = to_run(path, options.weights, options)
    return Session(model, gather(model, options).values, max_iterations=options.max_iterations)


def given_inputs(inputs: Any) -> Iterator[str]:
    """Inputs by name, or the file that they are in, as they stand on a command line.

    Raises:
        UsageError: they are something else.
    """
    if isinstance(inputs, str):
        yield from ("--inputs", inputs)
    elif isinstance(inputs, Mapping):
        for name, value in inputs.items():
            yield from ("--input", f"{name}={value if isinstance(value, str) else json.dumps(value)}")
    else:
        raise UsageError("'inputs' is a file, or an object of names and values")
