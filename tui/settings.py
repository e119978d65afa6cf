"""What is kept for a person: keys in ``config.toml``, written by hand; theme, recent models and how the panes stood,
written here.

Both are in the folder where the system keeps such files, or in ``LOOPDBG_CONFIG_DIR``. Where nothing can be written
nothing is remembered, and nobody is bothered with it.
"""

from __future__ import annotations

import contextlib
import json
import os
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..runtime.errors import UsageError
from ..runtime.files import text_of

#: So many recent models are kept, and of so many which of their loops were folded.
_RECENT = 20


def folder() -> Path:
    """Where the files are."""
    given = os.environ.get("LOOPDBG_CONFIG_DIR")
    if given:
        return Path(given)
    import platformdirs

    return Path(platformdirs.user_config_dir("loopdbg", appauthor=False))


def _state_file() -> Path:
    return folder() / "state.json"


def keys_file() -> Path:
    """Where keys are set."""
    return folder() / "config.toml"


def keymap() -> dict[str, Sequence[str]]:
    """The keys of a person: action id -> keys, from ``[keys]`` in ``config.toml``; a string or a list of strings each.

    Raises:
        UsageError: the file cannot be read, or says something else.
    """
    path = keys_file()
    try:
        told = tomllib.loads(text_of(path))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: is not TOML: {error}") from None
    strange = [name for name in told if name != "keys"]
    if strange:
        raise UsageError(f"{path}: there is no setting '{strange[0]}'; keys are set in a table [keys]")
    keys = told.get("keys", {})
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


def remember(**changed: Any) -> None:
    """Keep something for the next time; where it cannot be written, not."""
    with contextlib.suppress(OSError, ValueError):
        path = _state_file()
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(f"{path.name}.{os.getpid()}")
        beside.write_text(json.dumps({**state(), **changed}, indent=1), encoding="utf-8")
        beside.replace(path)


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


def theme() -> str | None:
    """The theme chosen last."""
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
