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
from ..runtime.files import text_of
from . import config

#: So many recent models are kept, and of so many which of their loops were folded.
_RECENT = 20


#: False in the page of a server.
_remembers = True


def _state_file() -> Path:
    return config.folder() / "state.json"


def keymap() -> dict[str, Sequence[str]]:
    """The keys of a person: action id -> keys, from ``[keys]`` in ``config.toml``; a string or a list of strings each.

    Raises:
        UsageError: the file cannot be read, or says something else.
    """
    path, keys = config.file(), config.told().get(config.KEYS, {})
    if not isinstance(keys, dict):
        raise UsageError(f'{path}: keys must be a table: [keys], then lines such as step = "s"')
    return {name: _keys(path, name, value) for name, value in keys.items()}


def _keys(path: Path, name: str, value: Any) -> tuple[str, ...]:
    given = [value] if isinstance(value, str) else value
    if not isinstance(given, list) or not all(isinstance(key, str) and key.strip() for key in given):
        raise UsageError(f'{path}: {name} needs a key or a list of keys, as in {name} = ["s", "f5"]')
    return tuple(key.strip() for key in given)


def state() -> dict[str, Any]:
    """What was remembered; empty where there is nothing, or nothing readable."""
    with contextlib.suppress(OSError, ValueError):
        told = json.loads(text_of(_state_file()))
        if isinstance(told, dict):
            return told
    return {}


def read_only() -> None:
    """Remember nothing from here on: a page of a server writes no file of its own accord."""
    global _remembers
    _remembers = False


def remember(**changed: Any) -> None:
    """Keep something for the next time; where it cannot be written, not."""
    if not _remembers:
        return
    from ..runtime.atomic_file import write_text

    with contextlib.suppress(OSError, ValueError):
        path = _state_file()
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, json.dumps({**state(), **changed}, indent=1))


def recent() -> list[Path]:
    """The models opened lately that are still there, the newest first."""
    told = state().get("recent", [])
    found = [Path(path) for path in told if isinstance(path, str)] if isinstance(told, list) else []
    return [path for path in found if path.is_file()]


def opened(path: Path | str) -> None:
    """Remember that a model was opened."""
    with contextlib.suppress(OSError, ValueError):
        here = str(Path(path).resolve())
        remember(recent=[here, *(str(one) for one in recent() if str(one) != here)][:_RECENT])


#: The themes by what ``config.toml`` calls them.
_THEMES = {"dark": "loopdbg", "light": "loopdbg-light"}


def theme() -> str | None:
    """The theme that is set, else the one chosen last.

    Raises:
        UsageError: the config file makes no sense.
    """
    here = config.value("theme")
    if here is not None:
        return _THEMES[here]
    told = state().get("theme")
    return told if isinstance(told, str) else None


def arrangement(path: Path | str | None) -> tuple[int, str, dict[int, str]]:
    """How the panes stood the last time: the tab in front, the pane that had all the room ("" for none), and of a model
    the folded lines by number, with what they say."""
    told = state().get("panes")
    told = told if isinstance(told, dict) else {}
    tab, full, folded = told.get("tab"), told.get("full"), told.get("folded")
    lines = folded.get(_resolved(path)) if path is not None and isinstance(folded, dict) else None
    return (
        tab if isinstance(tab, int) else 0,
        full if isinstance(full, str) else "",
        {int(k): str(v) for k, v in lines.items() if k.isdecimal()} if isinstance(lines, dict) else {},
    )


def arranged(path: Path | str, tab: int, full: str, folded: Mapping[int, str]) -> None:
    """Remember how the panes stood, and which lines of a model were folded."""
    told = state().get("panes")
    before = told.get("folded") if isinstance(told, dict) else None
    others = {k: v for k, v in before.items() if k != _resolved(path)} if isinstance(before, dict) else {}
    mine = {_resolved(path): {str(k): v for k, v in folded.items()}} if folded else {}
    kept = dict([*mine.items(), *others.items()][:_RECENT])
    remember(panes={"tab": tab, "full": full, "folded": kept})


def _resolved(path: Path | str) -> str:
    return str(Path(path).resolve())
