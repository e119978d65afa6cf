"""The last line: the keys of the actions that apply now."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.segment import Segment
from textual import events
from textual.strip import Strip

from ..actions import Action, ActionContext, enabled_actions, key_name
from .strips import LineWidget, padded_strip

#: Actions of this rank or above are always shown, right-aligned.
_RIGHT_ALIGNED_MIN_RANK = 90


@dataclass(frozen=True)
class _KeyLabel:
    """An entry of the key bar: the key, the label, and the width of both including spaces."""

    action: Action
    key: str
    text: str
    width: int

    @classmethod
    def for_action(cls, action: Action) -> _KeyLabel:
        """Create the entry of an action with a key and a label."""
        key, text = key_name(action.keys[0]), f" {action.label}  "
        return cls(action, key, text, cell_len(key) + cell_len(text))

    @property
    def is_right_aligned(self) -> bool:
        """Whether it is at the right end."""
        return self.action.rank >= _RIGHT_ALIGNED_MIN_RANK


class KeyBar(LineWidget):
    """Shows as many of the actions that apply as fit, by rank; a click runs one."""

    def __init__(self, actions: Sequence[Action], run: Callable[[Action], object], id: str) -> None:
        super().__init__(id)
        self._labelled_actions = sorted(
            (item for item in actions if item.label and item.keys), key=lambda item: item.rank
        )
        self._labels = {action.id: _KeyLabel.for_action(action) for action in self._labelled_actions}
        self._run_clicked = run
        self._action_context = ActionContext()
        #: The selected labels, and the width they fit; depends on the action context.
        self._fitting_cache: tuple[int, list[_KeyLabel]] | None = None
        self._label_cells: list[tuple[int, int, Action]] = []

    @property
    def action_context(self) -> ActionContext:
        """The state that decides which actions apply."""
        return self._action_context

    @action_context.setter
    def action_context(self, context: ActionContext) -> None:
        if context == self._action_context:
            return
        old_labels = self._fitting_labels(self.size.width)
        self._action_context, self._fitting_cache = context, None
        if self._fitting_labels(self.size.width) != old_labels:
            self.refresh()

    @property
    def text(self) -> str:
        """The text of the line."""
        return "".join(segment.text for segment in self.render_line(0)).strip()

    def _fitting_labels(self, width: int) -> list[_KeyLabel]:
        if self._fitting_cache is None or self._fitting_cache[0] != width:
            self._fitting_cache = width, self._select_labels(width)
        return self._fitting_cache[1]

    def _select_labels(self, width: int) -> list[_KeyLabel]:
        """Select the entries to show: right-aligned ones always, the others by rank while they fit."""
        by_key: dict[str, _KeyLabel] = {}
        for action in enabled_actions(self._labelled_actions, self._action_context):
            # The first enabled action of a key wins.
            label = self._labels[action.id]
            by_key.setdefault(label.key, label)
        right_aligned = [label for label in by_key.values() if label.is_right_aligned]
        cells = width - 1 - sum(label.width for label in right_aligned)
        fitting: list[_KeyLabel] = []
        for label in by_key.values():
            if not label.is_right_aligned and label.width <= cells:
                cells -= label.width
                fitting.append(label)
        return [*fitting, *right_aligned]

    def render_line(self, y: int) -> Strip:
        """See :class:`~textual.widget.Widget`."""
        base, key, width = self.style_resolver.style_for(), self.style_resolver.style_for("mark"), self.size.width
        segments, column = [Segment(" ", base)], 1
        self._label_cells = []
        for label in self._fitting_labels(width):
            segments += [Segment(label.key, key), Segment(label.text, base)]
            self._label_cells.append((column, column + label.width - 2, label.action))
            column += label.width
        return padded_strip(segments, width, base) if column <= width else Strip(segments).crop(0, width)

    def on_click(self, event: events.Click) -> None:
        """Run the clicked action."""
        for begin, end, action in self._label_cells:
            if begin <= event.x < end:
                self._run_clicked(action)
