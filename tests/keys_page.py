"""Writes docs/keys.md from the table of actions: python tests/keys_page.py docs/keys.md"""

from __future__ import annotations

import sys
from pathlib import Path

from loopdbg.tui.actions import ACTIONS, Action, Section, key_name

HEAD = """\
# Keys

Written from the program's own table of actions by `tests/keys_page.py`. On the screen `?` shows the same, with what is
special to the pane that has the focus first; `^p` finds an action by its words.

## Other keys

`config.toml` in the folder where the system keeps settings (`~/.config/loopdbg` on Linux, `~/Library/Application
Support/loopdbg` on macOS; the environment variable `LOOPDBG_CONFIG_DIR` names another) gives actions other keys, by the
names in the tables below; a list gives several. A key is written as the sign that it types, or by its name (`enter`,
`pageup`, `f5`, `ctrl+s`, `shift+left`); on another screen, such as the inspector, it may mean something else:

```toml
[keys]
step = "f10"
back = ["left", "u"]
inspect-heat-map = "H"
```
"""


def page() -> str:
    """The page."""
    parts = [HEAD]
    for section in Section:
        parts += ["", f"## {section}", "", "| key | action | what it does |", "| --- | --- | --- |"]
        parts += [_row(one) for one in ACTIONS if one.section is section]
    return "\n".join(parts) + "\n"


def _row(action: Action) -> str:
    keys = " ".join(f"`{key_name(key)}`" for key in action.keys)
    panes = f" (in the pane {', '.join(action.panes)})" if action.panes else ""
    return f"| {keys} | {action.id} | {action.help}{panes} |"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
