"""The last line: the keys that do something now."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.segment import Segment
from textual import events
from textual.strip import Strip

from ..actions import Action, Now, key_name
from .strips import Lined, filled

#: From here on an action is always there, at the right end.
_ALWAYS = 90


@dataclass(frozen=True)
class _Label:
    """What stands at the foot for an action: its key, its label, and the cells that both take with what is around."""

    action: Action
    key: str
    text: str
    width: int

    @classmethod
    def of(cls, action: Action) -> _Label:
        """That of an action with a key and a label."""
        key, text = key_name(action.keys[0]), f" {action.label}  "
        return cls(action, key, text, cell_len(key) + cell_len(text))

    @property
    def last(self) -> bool:
        """It stands at the right end."""
        return self.action.rank >= _ALWAYS


class Keys(Lined):
    """As many of the actions that apply as there is room for, the most important first; a click does one."""

    def __init__(self, actions: Sequence[Action], run: Callable[[Action], object], id: str) -> None:
        super().__init__(id)
        labelled = sorted((one for one in actions if one.label and one.keys), key=lambda one: one.rank)
        self._labels = tuple(map(_Label.of, labelled))
        self._run = run
        self._now = Now()
        #: What is shown, and for which width that was found; it follows from ``now``.
        self._found: tuple[int, list[_Label]] | None = None
        self._placed: list[tuple[int, int, Action]] = []

    @property
    def now(self) -> Now:
        """What the screen stands at."""
        return self._now

    @now.setter
    def now(self, now: Now) -> None:
        if now == self._now:
            return
        before = self._fitting(self.size.width)
        self._now, self._found = now, None
        if self._fitting(self.size.width) != before:
            self.refresh()

    @property
    def text(self) -> str:
        """What the line says."""
        return "".join(segment.text for segment in self.render_line(0)).strip()

    def _fitting(self, width: int) -> list[_Label]:
        if self._found is None or self._found[0] != width:
            self._found = width, self._find(width)
        return self._found[1]

    def _find(self, width: int) -> list[_Label]:
        """The actions to show: those at the right end stay, the others in order of rank while there is room."""
        taken: dict[str, _Label] = {}
        for one in self._labels:
            # An earlier meaning of a key hides later ones.
            if one.key not in taken and one.action.applies(self._now):
                taken[one.key] = one
        ends = [one for one in taken.values() if one.last]
        room = width - 1 - sum(one.width for one in ends)
        fitting: list[_Label] = []
        for one in taken.values():
            if not one.last and one.width <= room:
                room -= one.width
                fitting.append(one)
        return [*fitting, *ends]

    def render_line(self, y: int) -> Strip:
        """See :class:`~textual.widget.Widget`."""
        base, key, width = self.looks.of(), self.looks.of("mark"), self.size.width
        segments, at = [Segment(" ", base)], 1
        self._placed = []
        for one in self._fitting(width):
            segments += [Segment(one.key, key), Segment(one.text, base)]
            self._placed.append((at, at + one.width - 2, one.action))
            at += one.width
        return filled(segments, width, base) if at <= width else Strip(segments).crop(0, width)

    def on_click(self, event: events.Click) -> None:
        """A key with the mouse."""
        for begin, end, one in self._placed:
            if begin <= event.x < end:
                self._run(one)
