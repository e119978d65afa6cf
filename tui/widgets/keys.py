"""The last line: the keys that do something now."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.cells import cell_len
from rich.segment import Segment
from textual import events
from textual.strip import Strip
from textual.widget import Widget

from ..actions import Action, Now, key_name
from .strips import COMPONENTS

#: From here on an action is always there, at the right end.
_ALWAYS = 90


class Keys(Widget):
    """As many of the actions that apply as there is room for, the most important first; a click does one."""

    COMPONENT_CLASSES = COMPONENTS

    def __init__(self, actions: Sequence[Action], run: Callable[[Action], object], id: str) -> None:
        super().__init__(id=id)
        self._labelled = sorted((one for one in actions if one.label and one.keys), key=lambda one: one.rank)
        self._run = run
        self._now = Now()
        self._placed: list[tuple[int, int, Action]] = []

    @property
    def now(self) -> Now:
        """What the screen stands at."""
        return self._now

    @now.setter
    def now(self, now: Now) -> None:
        before = self._fitting(self.size.width)
        self._now = now
        if self._fitting(self.size.width) != before:
            self.refresh()

    @property
    def text(self) -> str:
        """What the line says."""
        return "".join(segment.text for segment in self.render_line(0)).strip()

    def _fitting(self, width: int) -> list[Action]:
        """The actions to show: those at the right end stay, the others in order of rank while there is room."""
        shown = [one for one in self._labelled if one.applies(self._now)]
        taken: dict[str, Action] = {}
        for one in shown:
            # An earlier meaning of a key hides later ones.
            taken.setdefault(one.keys[0], one)
        shown = [one for one in shown if taken[one.keys[0]] is one]
        ends = [one for one in shown if one.rank >= _ALWAYS]
        room = width - 1 - sum(map(_width, ends))
        fitting: list[Action] = []
        for one in shown:
            if one.rank < _ALWAYS and _width(one) <= room:
                room -= _width(one)
                fitting.append(one)
        return [*fitting, *ends]

    def render_line(self, y: int) -> Strip:
        """See :class:`~textual.widget.Widget`."""
        base, width = self.rich_style, self.size.width
        key = base + self.get_component_rich_style("role--mark", partial=True)
        segments, at = [Segment(" ", base)], 1
        self._placed = []
        for one in self._fitting(width):
            name = key_name(one.keys[0])
            segments += [Segment(name, key), Segment(f" {one.label}  ", base)]
            self._placed.append((at, at + _width(one) - 2, one))
            at += _width(one)
        return Strip(segments).adjust_cell_length(width, base)

    def on_click(self, event: events.Click) -> None:
        """A key with the mouse."""
        for begin, end, one in self._placed:
            if begin <= event.x < end:
                self._run(one)


def _width(action: Action) -> int:
    return cell_len(key_name(action.keys[0])) + 1 + cell_len(action.label) + 2
