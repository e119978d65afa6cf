"""Whether the loop goes on: what decides it, how it went, what ends the loop."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from ...debugger.words.condition import comparisons, decision_text
from ...debugger.words.loop_text import LoopText
from ...debugger.words.moments import ended
from ...debugger.words.names import named
from ...debugger.words.node_text import Phrases
from ...runtime.graph import Loop, Value
from ..screen.cells import NOT_YET, short_value
from ..screen.layout import ALL, Need
from ..screen.lines import Line, Role, Span, line
from ..screen.plots import Points, points, progress
from ..screen.program import program
from ..screen.view import FrameView, Moment, Shown
from .pane import Pane

_LABEL = 7
#: The rows that a plot needs to say anything.
_LEAST_PLOT = 5
_HIGHEST = 30
#: So many boundaries in a row that nobody saw are shown one by one.
_FEW = 3


class Condition(Pane):
    """The condition in force, the boundaries seen, the trip count, and the two sides of the deciding comparison."""

    def __init__(self, id: str) -> None:
        super().__init__("Condition", id)

    def need(self, shown: Shown) -> Need | None:
        if shown.frame.frame.loop is None:
            return None
        return Need(3, ALL if plottable(shown) else 5)

    def build(self, shown: Shown, width: int, height: int) -> Sequence[Line]:
        view = shown.frame
        loop = view.frame.loop
        if loop is None:
            self.set_title("Condition")
            return [line(("no loop runs here", Role.DIM))]
        phrases, text = program(shown.main).phrases, program(shown.main).said(loop)
        decides = view.frame.condition is not None and text.decides
        counted = "Condition" if view.frame.trip_count is None else "Trip count"
        self.set_title(f"Condition  {text.condition}".rstrip() if decides else counted)
        lines = [
            *(_now(shown, loop, phrases, text) if decides else ()),
            *_ends(shown, text, width),
            *(_seen(view, width) if decides else ()),
            *_trips(view, width),
            *_ignored(loop),
        ]
        plotted = _plot(view, text, width, height - len(lines) - 1)
        return [*lines, line(), *plotted] if plotted else lines


def plottable(shown: Shown) -> bool:
    """True where a plot would have something to show now or later: the pane then takes the room that is left."""
    loop = shown.frame.frame.loop
    return loop is not None and program(shown.main).said(loop).sides is not None


def _row(label: str, *spans: Span) -> Line:
    return line((f"{label:<{_LABEL}}", Role.DIM), *spans)


def _now(shown: Shown, loop: Loop, phrases: Phrases, text: LoopText) -> list[Line]:
    frame = shown.frame.frame
    if frame.condition is None:
        return []
    between = frame.at_boundary or shown.depth is None
    if between and not frame.iteration:
        outer = loop.initial_condition
        name = f"  initial: {phrases.operand(outer, bare=True)}" if outer is not None else "  initial"
        return [_row("now", (_word(frame.condition), Role.VALUE), (name, Role.DIM))]
    if loop.condition is None:
        return [_row("now", (_word(frame.condition), Role.VALUE), ("  nothing in the body changes it", Role.DIM))]
    value = frame.condition if between else _truth(shown.frame, loop.condition)
    if value is None:
        return [_row("now", (NOT_YET, Role.DIM), (f"  {named(loop.condition)} is not computed yet", Role.DIM))]
    return [_row("now", (_word(value), Role.VALUE), *_sides(shown.frame, text, phrases))]


def _truth(view: FrameView, condition: Value) -> bool | None:
    value = view.frame.values.get(condition.name, condition.constant)
    return None if value is None else bool(value.size and value.reshape(-1)[0])


def _word(condition: bool) -> str:
    return "true" if condition else "false"


class _Now:
    """Writes operands as what they are now."""

    def __init__(self, view: FrameView, phrases: Phrases) -> None:
        self.view = view
        self.phrases = phrases
        self.complete = True

    def operand(self, value: Value | None, *, bare: bool = False) -> str:
        data = self.phrases.constant(value)
        if data is None and value is not None:
            data = self.view.frame.values.get(value.name)
        self.complete = self.complete and data is not None
        return short_value(data, 16)


def _sides(view: FrameView, text: LoopText, phrases: Phrases) -> list[Span]:
    """The comparisons that decide, with what is compared."""
    if text.decision is None or not comparisons(text.decision):
        return []
    now = _Now(view, phrases)
    told = decision_text(text.decision, now)
    return [(f"  {told}", Role.PLAIN)] if now.complete else []


def _seen(view: FrameView, width: int) -> list[Line]:
    """``T T T · F``: for each boundary seen whether the loop went on; ``·`` or ``…`` for those that nobody saw."""
    frame = view.frame
    if frame.condition is None or not view.history:
        return []
    room = width - _LABEL
    signs: list[str] = []
    before = -1
    for moment in view.history:
        unseen = moment.iteration - before - 1
        signs += ["·"] * unseen if unseen <= _FEW else ["…"]
        signs.append("T" if moment.condition else "F")
        before = moment.iteration
    if not frame.at_boundary and frame.stopped_by is None:
        signs.append("·")
    most = (room + 1) // 2
    if len(signs) > most:
        signs = ["…", *signs[len(signs) - most + 1 :]]
    return [_row("seen", (" ".join(signs), Role.PLOT))]


def _trips(view: FrameView, width: int) -> list[Line]:
    frame = view.frame
    if frame.trip_count is None:
        return []
    text = f"{frame.iteration} of {frame.trip_count}"
    bar = progress(frame.iteration, frame.trip_count, min(40, width - _LABEL - len(text) - 2))
    return [_row("trips", (text, Role.VALUE), (f"  {bar}", Role.PLOT))]


def _ends(shown: Shown, text: LoopText, width: int) -> list[Line]:
    frame = shown.frame.frame
    if frame.stopped_by is not None:
        return [_row("", (ended(frame.stopped_by, frame.iteration), Role.MARK))]
    told = textwrap.wrap(text.ends[0], max(20, width - _LABEL))
    return [_row("" if k else "ends", (row, Role.PLAIN)) for k, row in enumerate(told)]


def _ignored(loop: Loop) -> list[Line]:
    if loop.ignored_condition is None:
        return []
    return [_row("note", (f"{named(loop.ignored_condition)} is ignored: the loop's cond is absent", Role.DIM))]


def _plot(view: FrameView, text: LoopText, width: int, height: int) -> list[Line]:
    seen: list[tuple[Moment, tuple[float, float]]] = [(m, m.sides) for m in view.history if m.sides is not None]
    if height < _LEAST_PLOT or not seen:
        return []
    data = Points(
        # The comparison that decides boundary i was computed by the iteration before it.
        [moment.iteration - 1 for moment, _ in seen],
        [sides[0] for _, sides in seen],
        [sides[1] for _, sides in seen],
    )
    rows = points(data, width, min(height - 1, _HIGHEST))
    if not rows or text.sides is None:
        return []
    sign = "─" if len(set(data.right)) == 1 else "○"
    left, right = text.sides
    key = f"● {left}   {sign} {right}   by iteration"
    return [*(line((row, Role.PLOT)) for row in rows), line((key, Role.DIM))]
