"""Opens models and traces for protocol clients, as ``loopdbg MODEL`` does.

The values of a client are validated one by one and become options: no text of a client is parsed as a command line.
Only the server's command line can allow programs to run, never a client.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from typing import Any

from ....debugger.session.session import Session
from ....runtime.errors import ModelError, UsageError
from ....runtime.frontends import is_sqlite_file, split_model_path
from ..command import CommandParser, int_at_least
from ..model_inputs.gather import gather_inputs, load_runnable_model
from ..options import add_run_options, add_weights_option
from ..trust import check_trust


def open_session(path: str, settings: Mapping[str, Any], trusted: bool) -> Session:
    """Open a session of a model or a trace.

    Args:
        path: the file.
        settings: The result of :func:`parse_settings`.
        trusted: Whether the server has ``--trust-script``.

    Raises:
        LoopdbgError: The file cannot be opened, or a value does not fit the model.
    """
    check_path_exists(path)
    if is_sqlite_file(path):
        from ....debugger.trace.reader import Trace
        from ....debugger.trace.replay import Replay

        return Replay(Trace.open(path))
    options = _default_options()
    vars(options).update(settings, model=path, trust_script=trusted)
    check_trust(options, serving=True, may_ask=False)
    model = load_runnable_model(path, options.weights, options)
    return Session(model, gather_inputs(model, options).values, max_iterations=options.max_iterations)


def check_path_exists(path: str) -> None:
    """Check that a path exists; it may have any characters.

    Raises:
        ModelError: There is no such file.
    """
    try:
        split_model_path(path)[0].stat()  # exists() tells errors from absence on some versions of Python only
    except (FileNotFoundError, NotADirectoryError, ValueError):
        raise ModelError(f"{path}: no such file") from None
    except OSError as error:  # such as a name that is too long
        raise ModelError(f"{path[:80]}...: no such file ({error.strerror})") from None


def _default_options() -> argparse.Namespace:
    """The default options of ``loopdbg MODEL``."""
    parser = CommandParser(prog="launch", allow_abbrev=False, add_help=False)
    parser.add_argument("model", nargs="?")
    add_weights_option(parser)
    add_run_options(parser)
    return parser.parse([])


# -- values of a client


def parse_settings(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Convert the arguments of a client to options, by option name.

    Args:
        arguments: Arguments of ``launch`` or of a tool; unknown names and None values are ignored.

    Raises:
        UsageError: A value has the wrong type or is out of bounds; the message names it.
    """
    settings: dict[str, Any] = {}
    inputs = arguments.get("inputs")
    if isinstance(inputs, str):
        settings["inputs"] = inputs
    elif inputs is not None:
        settings["input"] = _read_pairs("inputs", inputs, "a file, or an object of names and values")
    for name, (option, read) in _SETTING_READERS.items():
        value = arguments.get(name)
        if value is not None:
            settings[option] = read(name, value)
    return settings


def _read_pairs(name: str, value: Any, form: str = "an object of names and values") -> list[tuple[str, str]]:
    """Names, and their values as text for :func:`.value_parser.parse_value`."""
    if not isinstance(value, Mapping):
        raise UsageError(f"'{name}' is {form}", name=name, expected=form)
    return [(str(key), item if isinstance(item, str) else json.dumps(item)) for key, item in value.items()]


def _read_dims(name: str, value: Any) -> list[str]:
    if not isinstance(value, Mapping):
        raise UsageError(
            f"'{name}' is an object of names and sizes", name=name, expected="an object of names and sizes"
        )
    return [f"{key}={_read_integer(name, size)}" for key, size in value.items()]


def _read_text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise UsageError(f"'{name}' is a text", name=name, expected="a text")
    return value


def _read_flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise UsageError(f"'{name}' is true or false", name=name, expected="true or false")
    return value


def _read_integer(name: str, value: Any, minimum: int = 0) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise UsageError(f"'{name}' is a whole number", name=name, expected="a whole number")
    try:
        return int_at_least(minimum)(str(value))
    except argparse.ArgumentTypeError as error:
        raise UsageError(f"'{name}': {error}") from None


#: By name of an argument: its option, and the reader of its value.
_SETTING_READERS: dict[str, tuple[str, Any]] = {
    "weights": ("weights", _read_text),
    "requests": ("requests", _read_text),
    "case": ("case", _read_text),
    "batched": ("batched", _read_flag),
    "state": ("state", _read_pairs),
    "seed": ("seed", _read_integer),
    "dims": ("dim", _read_dims),
    "maxIterations": ("max_iterations", lambda name, value: _read_integer(name, value, 1)),
}
