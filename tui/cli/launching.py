"""Models and traces that the client of a protocol names, opened as ``loopdbg MODEL`` would.

A client sends values. They become attributes of options one by one, after a check of each: no text of a client is ever
parsed as a command line. Whether programs may run is for whoever started the server to say, never for the client.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from typing import Any

from ...debugger.session.debuggee import Debuggee
from ...debugger.session.session import Session
from ...runtime.errors import ModelError, UsageError
from ...runtime.frontends import is_database, split
from .command import Parser, at_least
from .inputs import gather, to_run
from .options import add_run_options, add_weights_option
from .trust import check_trust


def opened(path: str, settings: Mapping[str, Any], trusted: bool) -> Debuggee:
    """A model or a trace under the debugger.

    Args:
        path: the file.
        settings: what :func:`settings_of` made of the values of a client.
        trusted: the command line of the server has ``--trust-script``.

    Raises:
        LoopdbgError: it cannot be opened, or a value does not fit the model.
    """
    check_exists(path)
    if is_database(path):
        from ...debugger.recording.reader import Trace
        from ...debugger.recording.replay import Replay

        return Replay(Trace.open(path))
    options = _defaults()
    vars(options).update(settings, model=path, trust_script=trusted)
    check_trust(options, serving=True, asking=False)
    model = to_run(path, options.weights, options)
    return Session(model, gather(model, options).values, max_iterations=options.max_iterations)


def check_exists(path: str) -> None:
    """Refuse what no file or folder has as its path, whatever characters are in it.

    Raises:
        ModelError: there is no such file.
    """
    try:
        exists = "\0" not in path and split(path)[0].exists()
    except OSError as error:  # such as a name that is too long
        raise ModelError(f"{path[:80]}...: no such file ({error.strerror})") from None
    if not exists:
        raise ModelError(f"{path}: no such file")


def _defaults() -> argparse.Namespace:
    """The options of ``loopdbg MODEL``, none of them given."""
    parser = Parser(prog="launch", allow_abbrev=False, add_help=False)
    parser.add_argument("model", nargs="?")
    add_weights_option(parser)
    add_run_options(parser)
    return parser.parse([])


# -- values of a client


def settings_of(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Options that the arguments of a client set, by their names in the options.

    Args:
        arguments: of ``launch``, or of a tool; those with other names are ignored, and so are those that are None.

    Raises:
        UsageError: a value is of the wrong type or out of bounds; the message names it.
    """
    settings: dict[str, Any] = {}
    inputs = arguments.get("inputs")
    if isinstance(inputs, str):
        settings["inputs"] = inputs
    elif inputs is not None:
        settings["input"] = _pairs("inputs", inputs, "a file, or an object of names and values")
    for name, (option, read) in _SETTINGS.items():
        value = arguments.get(name)
        if value is not None:
            settings[option] = read(name, value)
    return settings


def _pairs(name: str, value: Any, form: str = "an object of names and values") -> list[tuple[str, str]]:
    """Names, and their values as :func:`.input_values.parse` reads them."""
    if not isinstance(value, Mapping):
        raise UsageError(f"'{name}' is {form}")
    return [(str(key), one if isinstance(one, str) else json.dumps(one)) for key, one in value.items()]


def _dims(name: str, value: Any) -> list[str]:
    if not isinstance(value, Mapping):
        raise UsageError(f"'{name}' is an object of names and sizes")
    return [f"{key}={_whole(name, size)}" for key, size in value.items()]


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise UsageError(f"'{name}' is a text")
    return value


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise UsageError(f"'{name}' is true or false")
    return value


def _whole(name: str, value: Any, least: int = 0) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise UsageError(f"'{name}' is a whole number")
    try:
        return at_least(least)(str(value))
    except argparse.ArgumentTypeError as error:
        raise UsageError(f"'{name}': {error}") from None


#: By name of an argument: the option that it sets, and what reads its value.
_SETTINGS: dict[str, tuple[str, Any]] = {
    "weights": ("weights", _text),
    "requests": ("requests", _text),
    "case": ("case", _text),
    "batched": ("batched", _flag),
    "state": ("state", _pairs),
    "seed": ("seed", _whole),
    "dims": ("dim", _dims),
    "maxIterations": ("max_iterations", lambda name, value: _whole(name, value, 1)),
}
