"""The user's state: the keymap from ``config.toml``, and the saved theme, recent models and pane arrangement.

State that cannot be written is silently not saved.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..runtime.errors import UsageError
from ..runtime.safe_file_reading import read_text
from . import config

#: The number of recent models kept, and of models whose folds are kept.
_RECENT_MODELS_MAX = 20


#: False in a server's web page.
_writable = True


def _state_file() -> Path:
    return config.config_folder() / "state.json"


def keymap() -> dict[str, Sequence[str]]:
    """The user's keymap, action id -> keys, from ``[keys]`` in ``config.toml``; each a string or a list of strings.

    Raises:
        UsageError: the file cannot be read, or is invalid.
    """
    path, keys = config.config_path(), config.read_config().get(config.KEYS_TABLE, {})
    if not isinstance(keys, dict):
        raise UsageError(f'{path}: keys must be a table: [keys], then lines such as step = "s"')
    return {name: _parse_keys(path, name, value) for name, value in keys.items()}


def _parse_keys(path: Path, name: str, value: Any) -> tuple[str, ...]:
    keys = [value] if isinstance(value, str) else value
    if not isinstance(keys, list) or not all(isinstance(key, str) and key.strip() for key in keys):
        raise UsageError(
            f'{path}: {name} needs a key or a list of keys, as in {name} = ["s", "f5"]',
            name=name,
            expected="a key or a list of keys",
        )
    return tuple(key.strip() for key in keys)


def read_state() -> dict[str, Any]:
    """Read the saved state; empty if missing or unreadable."""
    with contextlib.suppress(OSError, ValueError):
        state = json.loads(read_text(_state_file()))
        if isinstance(state, dict):
            return state
    return {}


def disable_writes() -> None:
    """Save nothing from here on: a server's web page must not write files."""
    global _writable
    _writable = False


def update_state(**entries: Any) -> None:
    """Save entries of the state; a failure is ignored."""
    if not _writable:
        return
    from ..runtime.atomic_file import write_text

    with contextlib.suppress(OSError, ValueError):
        path = _state_file()
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, json.dumps({**read_state(), **entries}, indent=1))


def recent_models() -> list[Path]:
    """The recently opened models that still exist, newest first."""
    entries = read_state().get("recent", [])
    paths = [Path(path) for path in entries if isinstance(path, str)] if isinstance(entries, list) else []
    return [path for path in paths if path.is_file()]


def record_opened_model(path: Path | str) -> None:
    """Add a model to the recent ones."""
    with contextlib.suppress(OSError, ValueError):
        key = str(Path(path).resolve())
        update_state(recent=[key, *(str(item) for item in recent_models() if str(item) != key)][:_RECENT_MODELS_MAX])


#: The themes by their names in ``config.toml``.
_THEME_NAMES = {"dark": "loopdbg", "light": "loopdbg-light"}


def selected_theme() -> str | None:
    """The configured theme, else the last selected one.

    Raises:
        UsageError: the config file is invalid.
    """
    configured = config.setting_value("theme")
    if configured is not None:
        return _THEME_NAMES[configured]
    saved = read_state().get("theme")
    return saved if isinstance(saved, str) else None


def load_arrangement(path: Path | str | None) -> tuple[int, str, dict[int, str]]:
    """The saved arrangement: the front tab, the maximized pane ("" for none), and the folded lines of a model by
    number."""
    panes = read_state().get("panes")
    panes = panes if isinstance(panes, dict) else {}
    tab, maximized, folded = panes.get("tab"), panes.get("full"), panes.get("folded")
    lines = folded.get(_resolved_path(path)) if path is not None and isinstance(folded, dict) else None
    return (
        tab if isinstance(tab, int) else 0,
        maximized if isinstance(maximized, str) else "",
        {int(k): str(v) for k, v in lines.items() if k.isdecimal()} if isinstance(lines, dict) else {},
    )


def save_arrangement(path: Path | str, tab: int, maximized: str, folded: Mapping[int, str]) -> None:
    """Save the arrangement of the panes and the folded lines of a model."""
    panes = read_state().get("panes")
    old_folds = panes.get("folded") if isinstance(panes, dict) else None
    others = {k: v for k, v in old_folds.items() if k != _resolved_path(path)} if isinstance(old_folds, dict) else {}
    own = {_resolved_path(path): {str(k): v for k, v in folded.items()}} if folded else {}
    folds = dict([*own.items(), *others.items()][:_RECENT_MODELS_MAX])
    update_state(panes={"tab": tab, "full": maximized, "folded": folds})


def _resolved_path(path: Path | str) -> str:
    return str(Path(path).resolve())
