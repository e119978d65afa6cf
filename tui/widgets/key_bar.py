"""The last line: the keys that do something now."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.segment import Segment
from textual import events
from textual.strip import Strip

from ..actions import Action, ActionContext, key_name
from .strips import LineWidget, fill_strip

#: From here on an action is always there, at the right end.
_RIGHT_ALIGNED_MIN_RANK = 90


@dataclass(frozen=True)
class _KeyLabel:
    """What stands at the foot for an action: its key, its label, and the cells that both take with what is around."""

    action: Action
    key: str
    text: str
    width: int

    @classmethod
    def for_action(cls, action: Action) -> _KeyLabel:
        """That of an action with a key and a label."""
        key, text = key_name(action.keys[0]), f" {action.label}  "
        return cls(action, key, text, cell_len(key) + cell_len(text))

    @property
    def is_right_aligned(self) -> bool:
        """It stands at the right end."""
        return self.action.rank >= _RIGHT_ALIGNED_MIN_RANK


class KeyBar(LineWidget):
    """As many of the actions that apply as there is room for, the most important first; a click does one."""

    def __init__(self, actions: Sequence[Action], run: Callable[[Action], object], id: str) -> None:
        super().__init__(id)
        labelled = sorted((one for one in actions if one.label and one.keys), key=lambda one: one.rank)
        self._labels = tuple(map(_KeyLabel.for_action, labelled))
        self._run_clicked = run
        self._action_context = ActionContext()
        #: What is shown, and for which width that was found; it follows from ``now``.
        self._fitting_cache: tuple[int, list[_KeyLabel]] | None = None
        self._label_cells: list[tuple[int, int, Action]] = []

    @property
    def action_context(self) -> ActionContext:
        """What the screen stands at."""
        return self._action_context

    @action_context.setter
    def action_context(self, now: ActionContext) -> None:
        if now == self._action_context:
            return
        before = self._fitting_labels(self.size.width)
        self._action_context, self._fitting_cache = now, None
        if self._fitting_labels(self.size.width) != before:
            self.refresh()

    @property
    def text(self) -> str:
        """What the line says."""
        return "".join(segment.text for segment in self.render_line(0)).strip()

    def _fitting_labels(self, width: int) -> list[_KeyLabel]:
        if self._fitting_cache is None or self._fitting_cache[0] != width:
            self._fitting_cache = width, self._select_labels(width)
        return self._fitting_cache[1]

    def _select_labels(self, width: int) -> list[_KeyLabel]:
        """The actions to show: those at the right end stay, the others in order of rank while there is room."""
        taken: dict[str, _KeyLabel] = {}
        for one in self._labels:
            # An earlier meaning of a key hides later ones.
            if one.key not in taken and one.action.is_enabled(self._action_context):
                taken[one.key] = one
        ends = [one for one in taken.values() if one.is_right_aligned]
        room = width - 1 - sum(one.width for one in ends)
        fitting: list[_KeyLabel] = []
        for one in taken.values():
            if not one.is_right_aligned and one.width <= room:
                room -= one.width
                fitting.append(one)
        return [*fitting, *ends]

    def render_line(self, y: int) -> Strip:
        """See :class:`~textual.widget.Widget`."""
        base, key, width = self.style_resolver.style_for(), self.style_resolver.style_for("mark"), self.size.width
        segments, at = [Segment(" ", base)], 1
        self._label_cells = []
        for one in self._fitting_labels(width):
            segments += [Segment(one.key, key), Segment(one.text, base)]
            self._label_cells.append((at, at + one.width - 2, one.action))
            at += one.width
        return fill_strip(segments, width, base) if at <= width else Strip(segments).crop(0, width)

    def on_click(self, event: events.Click) -> None:
        """A key with the mouse."""
        for begin, end, one in self._label_cells:
            if begin <= event.x < end:
                self._run_clicked(one)
