"""The help: the keys, the signs, the words."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from ..actions import Action, Section, keys_text
from .above import Above

_SIGNS = (
    ("▶ ✗", "the node that runs next, the node that failed"),
    ("▌", "the cursor"),
    ("● ○", "a breakpoint, one that is switched off"),
    ("· –", "not computed yet, in the branch not taken"),
    ("T F", "at this boundary the loop went on, it ended"),
    ("= ±", "unchanged, the largest change of an element"),
    ("~ …", "rounded, left out"),
    ("‥", "the beginning that the names of the pane share; its title says it"),
    ("✎", "changed by hand"),
    ("×", "NaN or Inf in a picture"),
)
_WORDS = (
    ("boundary", "the moment between two iterations"),
    ("back edge", "carries what one iteration yields to the next one"),
    ("history", "what it carried (of a tensor the norm)"),
    ("scan output", "collects one element of every iteration"),
    ("capture", "a value of the graph around that the body uses"),
    ("frame", "one running loop; nested loops make a stack"),
    ("branch", "a line of time that begins where a value was changed"),
)
#: The keys have a column of so many cells.
_KEYS = 14


def rows(actions: Sequence[Action], pane: str, name: str) -> list[tuple[str, tuple[tuple[str, str], ...]]]:
    """The chapters of the help: titles with rows of a sign and what it means; first what is about the pane."""
    here = [one for one in actions if pane in one.panes]
    chapters = [(f"In the pane {name}", here)] if here else []
    chapters += [(section, [one for one in actions if one.section is section and not one.panes]) for section in Section]
    told = [(str(title), tuple((keys_text(one), one.help) for one in found if one.keys)) for title, found in chapters]
    return [*told, ("Signs", _SIGNS), ("Words", _WORDS)]


def _content(actions: Sequence[Action], pane: str, name: str) -> Content:
    parts: list[str | tuple[str, str]] = []
    for title, found in rows(actions, pane, name):
        parts.append((f"{title}\n", "bold"))
        for sign, text in found:
            filler = " " * max(1, _KEYS - cell_len(sign))
            parts += [(f"  {sign}{filler}", "$accent"), f"{text}\n"]
        parts.append("\n")
    return Content.assemble(*parts[:-1]).rstrip()


class HelpScreen(Above[None]):
    """Goes away with any of the keys that a person would try. ``pane``: the id of the one that has the focus."""

    BINDINGS = [Binding("escape,q,question_mark,f1,enter", "leave", "close")]

    def __init__(self, actions: Sequence[Action], pane: str = "", name: str = "") -> None:
        super().__init__()
        self._content = _content(actions, pane, name)

    @property
    def text(self) -> str:
        """What it says."""
        return self._content.plain

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="help") as box:
            box.border_title = "Help"
            box.border_subtitle = "esc closes"
            yield Static(self._content)
