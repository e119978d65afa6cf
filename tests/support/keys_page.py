"""Writes docs/keys.md from the table of actions: python tests/support/keys_page.py docs/keys.md"""

from __future__ import annotations

import sys
from pathlib import Path

from loopdbg.tui.actions import ACTIONS, Action, HelpSection, key_name

HEAD = """\
# Keys

This page is generated from the program's table of actions by `tests/support/keys_page.py`. On the screen, `?` lists the
same keys, those of the focused pane first. `^p` finds an action by the words of its description.

## Other keys

`config.toml` in the settings folder assigns other keys to actions. The settings folder is `~/.config/loopdbg` on Linux
and `~/Library/Application Support/loopdbg` on macOS; the environment variable `LOOPDBG_CONFIG_DIR` names another one.
`loopdbg config` lists what is set, and [cli-completion.md](cli-completion.md) the other settings.
Actions have the names of the tables below, and a list assigns several keys. A key is the character that it types, or a
name (`enter`, `pageup`, `f5`, `ctrl+s`, `shift+left`). The same key can have another action on another screen, such as
the inspector.

```toml
[keys]
step = "f10"
back = ["left", "u"]
inspect-heat-map = "H"
```
"""


def render_page() -> str:
    """The page."""
    parts = [HEAD]
    for section in HelpSection:
        parts += ["", f"## {section}", "", "| key | action | what it does |", "| --- | --- | --- |"]
        parts += [_row(action) for action in ACTIONS if action.section is section]
    return "\n".join(parts) + "\n"


def _row(action: Action) -> str:
    keys = " ".join(f"`{key_name(key)}`" for key in action.keys)
    panes = f" (in the pane {', '.join(action.panes)})" if action.panes else ""
    return f"| {keys} | {action.id} | {action.help}{panes} |"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(render_page(), encoding="utf-8")
