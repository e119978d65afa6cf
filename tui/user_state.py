"""What is kept for a person: keys, which ``config.toml`` has; and, written here, theme, recent models and how the panes
stood.

Where nothing can be written nothing is remembered, and nobody is bothered with it.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..runtime.errors import UsageError
from ..runtime.stable_file import read_text
from . import config

#: So many recent models are kept, and of so many which of their loops were folded.
_RECENT_MODELS_MAX = 20


#: False in the page of a server.
_writable = True


def _state_file() -> Path:
    return config.config_folder() / "state.json"


def keymap() -> dict[str, Sequence[str]]:
    """The keys of a person: action id -> keys, from ``[keys]`` in ``config.toml``; a string or a list of strings each.

    Raises:
        UsageError: the file cannot be read, or says something else.
    """
    path, keys = config.config_path(), config.read_config().get(config.KEYS_TABLE, {})
    if not isinstance(keys, dict):
        raise UsageError(f'{path}: keys must be a table: [keys], then lines such as step = "s"')
    return {name: _parse_keys(path, name, value) for name, value in keys.items()}


def _parse_keys(path: Path, name: str, value: Any) -> tuple[str, ...]:
    given = [value] if isinstance(value, str) else value
    if not isinstance(given, list) or not all(isinstance(key, str) and key.strip() for key in given):
        raise UsageError(f'{path}: {name} needs a key or a list of keys, as in {name} = ["s", "f5"]')
    return tuple(key.strip() for key in given)


def read_state() -> dict[str, Any]:
    """What was remembered; empty where there is nothing, or nothing readable."""
    with contextlib.suppress(OSError, ValueError):
        told = json.loads(read_text(_state_file()))
        if isinstance(told, dict):
            return told
    return {}


def disable_writes() -> None:
    """Remember nothing from here on: a page of a server writes no file of its own accord."""
    global _writable
    _writable = False


def update_state(**changed: Any) -> None:
    """Keep something for the next time; where it cannot be written, not."""
    if not _writable:
        return
    from ..runtime.atomic_file import write_text

    with contextlib.suppress(OSError, ValueError):
        path = _state_file()
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, json.dumps({**read_state(), **changed}, indent=1))


def recent_models() -> list[Path]:
    """The models opened lately that are still there, the newest first."""
    told = read_state().get("recent", [])
    found = [Path(path) for path in told if isinstance(path, str)] if isinstance(told, list) else []
    return [path for path in found if path.is_file()]


def record_opened(path: Path | str) -> None:
    """Remember that a model was opened."""
    with contextlib.suppress(OSError, ValueError):
        here = str(Path(path).resolve())
        update_state(recent=[here, *(str(one) for one in recent_models() if str(one) != here)][:_RECENT_MODELS_MAX])


#: The themes by what ``config.toml`` calls them.
_THEME_NAMES = {"dark": "loopdbg", "light": "loopdbg-light"}


def selected_theme() -> str | None:
    """The theme that is set, else the one chosen last.

    Raises:
        UsageError: the config file makes no sense.
    """
    here = config.setting_value("theme")
    if here is not None:
        return _THEME_NAMES[here]
    told = read_state().get("theme")
    return told if isinstance(told, str) else None


def load_arrangement(path: Path | str | None) -> tuple[int, str, dict[int, str]]:
    """How the panes stood the last time: the tab in front, the pane that had all the room ("" for none), and of a model
    the folded lines by number, with what they say."""
    told = read_state().get("panes")
    told = told if isinstance(told, dict) else {}
    tab, full, folded = told.get("tab"), told.get("full"), told.get("folded")
    lines = folded.get(_resolved_path(path)) if path is not None and isinstance(folded, dict) else None
    return (
        tab if isinstance(tab, int) else 0,
        full if isinstance(full, str) else "",
        {int(k): str(v) for k, v in lines.items() if k.isdecimal()} if isinstance(lines, dict) else {},
    )


def save_arrangement(path: Path | str, tab: int, full: str, folded: Mapping[int, str]) -> None:
    """Remember how the panes stood, and which lines of a model were folded."""
    told = read_state().get("panes")
    before = told.get("folded") if isinstance(told, dict) else None
    others = {k: v for k, v in before.items() if k != _resolved_path(path)} if isinstance(before, dict) else {}
    mine = {_resolved_path(path): {str(k): v for k, v in folded.items()}} if folded else {}
    kept = dict([*mine.items(), *others.items()][:_RECENT_MODELS_MAX])
    update_state(panes={"tab": tab, "full": full, "folded": kept})


def _resolved_path(path: Path | str) -> str:
    return str(Path(path).resolve())
