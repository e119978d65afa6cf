"""The help: the keys, the signs, the words."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from ..actions import Action, HelpSection, ScreenKind, actions_on
from .modal_base import TextScreen

_SIGN_ROWS = (
    ("▶ ✗", "the node that runs next, the node that failed"),
    ("▌", "the cursor"),
    ("● ○", "a breakpoint, one that is switched off"),
    ("◂ ▸", "makes what the line at the cursor reads, reads what it makes"),
    ("▲ │ ╰", "the way of back edges to the head of their loop"),
    ("· –", "not computed yet, in the branch not taken"),
    ("T F", "at this boundary the loop went on, it ended"),
    ("= ±", "unchanged, the largest change of an element"),
    ("≠", "another value than at the stop before"),
    ("~ …", "rounded, left out"),
    ("‥", "the beginning that the names of the pane share; its title says it"),
    ("✎", "changed by hand"),
    ("×", "NaN or Inf in a picture"),
)
_TERM_ROWS = (
    ("boundary", "the moment between two iterations"),
    ("back edge", "carries what one iteration yields to the next one"),
    ("history", "what it carried (of a tensor the norm)"),
    ("scan output", "collects one element of every iteration"),
    ("capture", "a value of the graph around that the body uses"),
    ("frame", "one running loop; nested loops make a stack"),
    ("branch", "a line of time that begins where a value was changed"),
)
#: The keys have a column of so many cells.
_KEY_COLUMN_CELLS = 14
#: And what they mean has so many, beside a scroll bar at 80 columns.
_TEXT_COLUMN_CELLS = 56
#: A title with rows of a sign and what it means.
HelpChapter = tuple[str, tuple[tuple[str, str], ...]]


def help_chapters(
    actions: Sequence[Action], place: ScreenKind, pane: str = "", name: str = "", lesson: bool = True
) -> list[HelpChapter]:
    """The chapters of the help: titles with rows of a sign and what it means; first what is about the pane.

    ``lesson``: with the keys of a lesson, which mean nothing outside of one."""
    known = actions_on(place, actions)
    here = [one for one in known if pane in one.panes]
    found = [(f"In the pane {name}", here)] if here else []
    sections = [section for section in HelpSection if section.screen is place]
    if not lesson:
        sections.remove(HelpSection.LESSON)
    found += [(section, [one for one in known if one.section is section and not one.panes]) for section in sections]
    told = [(str(title), tuple((one.keys_text, one.help) for one in rows if one.keys)) for title, rows in found]
    return [*told, ("Signs", _SIGN_ROWS), ("Words", _TERM_ROWS)] if place is ScreenKind.PANES else told


def _chapters_content(found: Sequence[HelpChapter]) -> Content:
    parts: list[str | tuple[str, str]] = []
    for title, rows in found:
        parts.append((f"{title}\n", "bold"))
        for sign, text in rows:
            filler = " " * max(1, _KEY_COLUMN_CELLS - cell_len(sign))
            told = f"\n{' ' * (2 + _KEY_COLUMN_CELLS)}".join(textwrap.wrap(text, _TEXT_COLUMN_CELLS))
            parts += [(f"  {sign}{filler}", "$accent"), f"{told}\n"]
        parts.append("\n")
    return Content.assemble(*parts[:-1]).rstrip()


class HelpScreen(TextScreen[None]):
    """The keys of a screen. ``pane``: the id of the one that has the focus, and ``name`` what it is called; ``lesson``:
    one is open beside the panes."""

    def __init__(
        self,
        actions: Sequence[Action],
        place: ScreenKind = ScreenKind.PANES,
        pane: str = "",
        name: str = "",
        opened: str = "help",
        lesson: bool = False,
    ) -> None:
        super().__init__(actions, opened)
        self._content = _chapters_content(
            help_chapters(actions, place, pane, name, lesson or place is not ScreenKind.PANES)
        )

    @property
    def text(self) -> str:
        """What it says."""
        return self._content.plain

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="help") as box:
            box.border_title = "Help"
            yield Static(self._content)
        yield self.key_bar
