"""Help screen: keys, signs, terms."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from ..actions import Action, HelpSection, ScreenKind, actions_of_screen
from .modal_base import ModalBase

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
#: The width of the key column.
_KEY_COLUMN_CELLS = 14
#: The width of the text column, which leaves space for a scroll bar at 80 columns.
_TEXT_COLUMN_CELLS = 56
#: A title with rows of a sign and what it means.
HelpChapter = tuple[str, tuple[tuple[str, str], ...]]


def help_chapters(
    actions: Sequence[Action], kind: ScreenKind, pane: str = "", name: str = "", lesson: bool = True
) -> list[HelpChapter]:
    """The chapters of the help, the pane in focus first. ``lesson``: include the keys of lessons."""
    table = actions_of_screen(kind, actions)
    own = [a for a in table if pane in a.panes]
    groups = [(f"In the pane {name}", own)] if own else []
    sections = [section for section in HelpSection if section.screen is kind]
    if not lesson:
        sections.remove(HelpSection.LESSON)
    groups += [(section, [a for a in table if a.section is section and not a.panes]) for section in sections]
    titled = [(str(title), tuple((a.keys_text, a.help) for a in rows if a.keys)) for title, rows in groups]
    return [*titled, ("Signs", _SIGN_ROWS), ("Words", _TERM_ROWS)] if kind is ScreenKind.PANES else titled


def _chapters_content(chapters: Sequence[HelpChapter]) -> Content:
    parts: list[str | tuple[str, str]] = []
    for title, rows in chapters:
        parts.append((f"{title}\n", "bold"))
        for sign, text in rows:
            filler = " " * max(1, _KEY_COLUMN_CELLS - cell_len(sign))
            lines = f"\n{' ' * (2 + _KEY_COLUMN_CELLS)}".join(textwrap.wrap(text, _TEXT_COLUMN_CELLS))
            parts += [(f"  {sign}{filler}", "$accent"), f"{lines}\n"]
        parts.append("\n")
    return Content.assemble(*parts[:-1]).rstrip()


class HelpScreen(ModalBase[None]):
    """The keys of a screen. ``pane`` and ``name``: the id and the title of the pane in focus; ``lesson``: a lesson is
    open."""

    def __init__(
        self,
        actions: Sequence[Action],
        kind: ScreenKind = ScreenKind.PANES,
        pane: str = "",
        name: str = "",
        opened_by: str = "help",
        lesson: bool = False,
    ) -> None:
        super().__init__(ScreenKind.TEXT, actions, opened_by)
        self._content = _chapters_content(
            help_chapters(actions, kind, pane, name, lesson or kind is not ScreenKind.PANES)
        )

    @property
    def text(self) -> str:
        """The help as text."""
        return self._content.plain

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="help") as box:
            box.border_title = "Help"
            yield Static(self._content)
        yield self.key_bar
