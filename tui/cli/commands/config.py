"""``loopdbg config``: what is set, to what, and where."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from typing import Any

from ... import config
from .. import terminal
from ..command import Command


class Config(Command):
    """Lists the settings."""

    name = "config"
    summary = """\
List the settings: what each is set to, and where that comes from."""
    examples = """\
config.toml, in the folder that the last line names:
  theme = "light"
  rtol = 1e-4
  peer = "onnxruntime"

  [keys]
  step = "f10"

  Options on the command line go before the file. LOOPDBG_CONFIG_DIR names
  another folder. NO_COLOR=1 takes all colours away, FORCE_COLOR=1 gives them to
  a pipe as well. docs/keys.md lists the actions that have keys."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.usage = "loopdbg config [--json]"
        parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")

    def run(self, options: argparse.Namespace) -> int:
        rows = list(_setting_rows())
        path = config.config_path()
        if options.json:
            told = {name: {"value": value, "from": where} for name, value, where, _ in rows}
            terminal.out_json({"settings": told, "file": str(path), "exists": path.exists()})
            return 0
        shown = [(name, "-" if value is None else str(value), where, what) for name, value, where, what in rows]
        wide = [max(len(row[k]) for row in shown) for k in range(3)]
        for row in shown:
            terminal.out("  ".join(f"{cell:<{width}}" for cell, width in zip(row, [*wide, 0], strict=True)))
        terminal.out(f"file: {path}{'' if path.exists() else ' (not there)'}")
        return 0


def _setting_rows() -> Iterator[tuple[str, Any, str, str]]:
    """Name, value, where it comes from, and what it is, of each setting."""
    told, path = config.read_config(), str(config.config_path())
    for one in config.SETTINGS:
        value, where = told.get(one.name), path if one.name in told else f"not set: {one.default_text}"
        if one.name == "color" and (by := _color_variable()):
            value, where = ("auto" if config.color_decision(True)[0] else "never"), by
        yield one.name, value, where, one.description
    keys = _configured_keys()
    yield config.KEYS_TABLE, ", ".join(keys) or None, path if keys else "not set: docs/keys.md", "keys of actions"


def _color_variable() -> str:
    """The variable that decides about colours; empty where the file does."""
    by = config.color_decision(True)[1]
    return by if by in os.environ else ""


def _configured_keys() -> list[str]:
    """The keys that are set, checked as the screen does.

    Raises:
        UsageError: there is no such action or key, or a key has two actions.
    """
    from ...user_state import keymap

    found = keymap()
    if found:
        from ...actions import configured_actions

        configured_actions()
    return [f"{name}={' '.join(keys)}" for name, keys in found.items()]
