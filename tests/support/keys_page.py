"""Writes docs/keys.md from the table of actions: python tests/support/keys_page.py docs/keys.md"""

from __future__ import annotations

import re
import sys
from itertools import groupby
from pathlib import Path

from loopdbg.tui.actions import ACTIONS, Action, HelpSection, key_name

HEAD = """\
# Keys

`?` lists the keys of a screen, those of the focused pane first; `^p` finds an action by the words of its description.
`tests/support/keys_page.py` writes this page from the table of actions.

## Other keys

`config.toml` in the settings folder assigns other keys to actions, which have the names of the tables below. The
settings folder is `~/.config/loopdbg` on Linux, `~/Library/Application Support/loopdbg` on macOS, or what the
environment variable `LOOPDBG_CONFIG_DIR` names; [cli-completion.md](cli-completion.md#settings) has the other settings.
A key is the character that it types, or a name (`enter`, `pageup`, `f5`, `ctrl+s`, `shift+left`). Keys can differ by
screen.

```toml
[keys]
step = "f10"
back = ["left", "u"]
inspect-heat-map = "H"
```
"""


#: Actions whose keys and names say what they do: a run of them is one row.
_MOVE = re.compile(r"(^|-)(up|down|left|right|first|last)$")
_PANE = "to the pane "


def render_page() -> str:
    """The page."""
    parts = [HEAD]
    for section in HelpSection:
        parts += ["", f"## {section}", "", "| key | action | what it does |", "| --- | --- | --- |"]
        actions = (action for action in ACTIONS if action.section is section)
        parts += [_row(list(group)) for _, group in groupby(actions, _shared_help)]
    return "\n".join(parts) + "\n"


def _shared_help(action: Action) -> str:
    if _MOVE.search(action.id):
        return "move"
    if action.help.startswith(_PANE):
        return _PANE
    return "as on the main screen" if _main_action(action) else action.id


def _main_action(action: Action) -> bool:
    """Whether an action of the graph is one of the main screen."""
    steps = {step.id for step in ACTIONS if step.section is HelpSection.STEPS}
    return action.section is HelpSection.GRAPH and action.id.removeprefix("graph-") in steps


def _row(actions: list[Action]) -> str:
    keys = [" ".join(f"`{key_name(key)}`" for key in action.keys) for action in actions]
    names = [action.id for action in actions]
    what = _shared_help(actions[0])
    if len(actions) == 1:
        what = actions[0].help
    elif what is _PANE:
        what += ", ".join(action.help.removeprefix(_PANE) for action in actions)
        keys, names = ([row[0], "...", row[-1]] for row in (keys, names))
    panes = f" (pane {', '.join(actions[0].panes)})" if actions[0].panes else ""
    return f"| {', '.join(keys)} | {', '.join(names)} | {what}{panes} |"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(render_page(), encoding="utf-8")
