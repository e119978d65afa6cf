"""The user's configuration file ``config.toml``: its settings, their accepted values and defaults.

The file is in the platform's configuration folder, or in ``LOOPDBG_CONFIG_DIR``. A setting is the default of an option:
the command line and the standard variables (``NO_COLOR``, ``FORCE_COLOR``) take precedence.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..runtime.errors import UsageError, file_error
from ..runtime.safe_file_reading import read_text
from ..runtime.text import did_you_mean

#: The peer runtimes that can be run live, each with an example device.
PEER_EXAMPLE_DEVICES = {"onnxruntime": "CUDA", "openvino": "GPU"}
#: The only table; all other settings are top-level.
KEYS_TABLE = "keys"


@dataclass(frozen=True)
class Setting:
    """A setting. ``default_text`` and ``accepted_text`` describe the default and the accepted values; ``parse`` returns
    None for an invalid value."""

    name: str
    description: str
    default_text: str
    accepted_text: str
    parse: Callable[[Any], Any]


def _choice_parser(*words: str) -> Callable[[Any], Any]:
    return lambda value: value if value in words else None


def _parse_tolerance(value: Any) -> float | None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if number and math.isfinite(value) and value >= 0 else None


def _parse_peer(value: Any) -> str | None:
    name, colon, device = value.partition(":") if isinstance(value, str) else ("", "", "")
    return value if name in PEER_EXAMPLE_DEVICES and bool(colon) == bool(device) else None


_TOLERANCE_FORM = "a number from 0 on, such as 1e-4"
SETTINGS = (
    Setting(
        "theme", "the theme of the screen", "the one chosen last", "'dark' or 'light'", _choice_parser("dark", "light")
    ),
    Setting(
        "color",
        "colours of run and of the console",
        "where there is a terminal",
        "'auto' or 'never'",
        _choice_parser("auto", "never"),
    ),
    Setting("rtol", "the relative tolerance of diff and repro", "by dtype", _TOLERANCE_FORM, _parse_tolerance),
    Setting("atol", "the absolute tolerance of diff and repro", "by dtype", _TOLERANCE_FORM, _parse_tolerance),
    Setting(
        "peer",
        "what diff compares one model with",
        "none",
        "a runtime: 'onnxruntime', 'openvino', or one with its device: 'openvino:GPU'",
        _parse_peer,
    ),
)


def config_folder() -> Path:
    """The configuration folder."""
    folder = os.environ.get("LOOPDBG_CONFIG_DIR")
    if folder:
        return Path(folder)
    import platformdirs

    return Path(platformdirs.user_config_dir("loopdbg", appauthor=False))


def config_path() -> Path:
    """The path of the configuration file."""
    return config_folder() / "config.toml"


def read_config() -> Mapping[str, Any]:
    """Read the file: validated settings by name, and the unchecked table of keys.

    Raises:
        UsageError: the file cannot be read, or is invalid.
    """
    path = config_path()
    try:
        text = read_text(path)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise file_error(UsageError, path, "cannot be read", error) from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: is not TOML: {error}") from None
    import tomllib

    try:
        settings = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: is not TOML: {error}") from None
    return {name: _validate_setting(path, name, value) for name, value in settings.items()}


def _validate_setting(path: Path, name: str, value: Any) -> Any:
    if name == KEYS_TABLE:
        return value
    by_name = {setting.name: setting for setting in SETTINGS}
    if name not in by_name:
        hint = did_you_mean(name, [KEYS_TABLE, *by_name]) or "; loopdbg config lists them"
        raise UsageError(f"{path}: there is no setting '{name}'{hint}", name=name)
    parsed = by_name[name].parse(value)
    if parsed is None:
        raise UsageError(
            f"{path}: {name} = {value!r}: it is {by_name[name].accepted_text}",
            name=name,
            expected=by_name[name].accepted_text,
            got=repr(value),
        )
    return parsed


def setting_value(name: str) -> Any:
    """The value of a setting; None if it is not set.

    Raises:
        UsageError: see :func:`read_config`.
    """
    return read_config().get(name)


def color_decision(terminal: bool, environment: Mapping[str, str] = os.environ) -> tuple[bool, str]:
    """Whether a stream has colours, and what decides that. ``terminal``: the stream is a terminal.

    Raises:
        UsageError: see :func:`read_config`.
    """
    if environment.get("NO_COLOR"):
        return False, "NO_COLOR"
    forced = environment.get("FORCE_COLOR")
    if forced:
        return forced != "0", "FORCE_COLOR"
    if not terminal or environment.get("TERM", "") == "dumb":
        return False, "no terminal" if not terminal else "TERM"
    setting = setting_value("color")
    return setting != "never", str(config_path()) if setting else "default"
