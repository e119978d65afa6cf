"""``loopdbg config``: lists the settings and their origins."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from typing import Any

from ... import config
from .. import terminal
from ..command import Command
from ..options import add_json_option


class ConfigCommand(Command):
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
        add_json_option(parser)

    def run(self, options: argparse.Namespace) -> int:
        rows = list(_setting_rows())
        path = config.config_path()
        if options.json:
            settings = {name: {"value": value, "from": origin} for name, value, origin, _ in rows}
            terminal.out_json({"settings": settings, "file": str(path), "exists": path.exists()})
            return 0
        cells = [(name, "-" if value is None else str(value), origin, text) for name, value, origin, text in rows]
        widths = [max(len(row[k]) for row in cells) for k in range(3)]
        for row in cells:
            terminal.out("  ".join(f"{cell:<{width}}" for cell, width in zip(row, [*widths, 0], strict=True)))
        terminal.out(f"file: {path}{'' if path.exists() else ' (not there)'}")
        return 0


def _setting_rows() -> Iterator[tuple[str, Any, str, str]]:
    """Name, value, origin and description of each setting."""
    values, path = config.read_config(), str(config.config_path())
    for setting in config.SETTINGS:
        value, origin = values.get(setting.name), path if setting.name in values else f"not set: {setting.default_text}"
        if setting.name == "color" and (variable := _color_environment_variable()):
            value, origin = ("auto" if config.color_decision(True)[0] else "never"), variable
        yield setting.name, value, origin, setting.description
    keys = _configured_keys()
    yield config.KEYS_TABLE, ", ".join(keys) or None, path if keys else "not set: docs/keys.md", "keys of actions"


def _color_environment_variable() -> str:
    """The environment variable that controls colours; empty if the file does."""
    source = config.color_decision(True)[1]
    return source if source in os.environ else ""


def _configured_keys() -> list[str]:
    """The configured keys, validated.

    Raises:
        UsageError: An action or key is unknown, or a key has two actions.
    """
    from ...user_state import keymap

    keys_by_action = keymap()
    if keys_by_action:
        from ...actions import configured_actions

        configured_actions()
    return [f"{name}={' '.join(keys)}" for name, keys in keys_by_action.items()]
