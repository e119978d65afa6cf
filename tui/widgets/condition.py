"""Whether the loop goes on: what decides it, how it went, what ends the loop."""

from __future__ import annotations

from collections.abc import Sequence

from ...debugger.words.names import quote
from ...runtime.graph import Loop, StoppedBy
from ..screen import wording
from ..screen.cells import short_value
from ..screen.lines import Line, Role, Span, line
from ..screen.plots import Points, points, progress
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

    def build(self, shown: Shown, width: int, height: int) -> Sequence[Line]:
        view = shown.frame
        loop = view.frame.loop
        if loop is None:
            self.set_title("Condition")
            return [line(("no loop runs here", Role.DIM))]
        decides = view.frame.condition is not None and not (loop.condition and wording.always(loop.condition))
        text = wording.condition_text(loop) if decides else ""
        counted = "Condition" if view.frame.trip_count is None else "Trip count"
        self.set_title(f"Condition  {text}".rstrip() if decides else counted)
        lines = [
            *(_now(shown, loop) if decides else ()),
            *_ends(shown, loop),
            *(_seen(view, width) if decides else ()),
            *_trips(view, width),
            *_ignored(loop),
        ]
        plotted = _plot(view, width, height - len(lines) - 1)
        return [*lines, line(), *plotted] if plotted else lines


def plottable(view: FrameView) -> bool:
    """True where a plot would have something to show now or later: the pane then takes the room that is left."""
    return view.frame.loop is not None and wording.comparison(view.frame.loop) is not None


def _row(label: str, *spans: Span) -> Line:
    return line((f"{label:<{_LABEL}}", Role.DIM), *spans)


def _now(shown: Shown, loop: Loop) -> list[Line]:
    frame = shown.frame.frame
    if frame.condition is None:
        return []
    between = frame.at_boundary or shown.depth is None
    if between and not frame.iteration:
        outer = loop.initial_condition
        name = f"  initial: {wording.operand(outer)}" if outer is not None else "  initial"
        return [_row("now", (_word(frame.condition), Role.VALUE), (name, Role.DIM))]
    if loop.condition is None:
        return [_row("now", (_word(frame.condition), Role.VALUE), ("  nothing in the body changes it", Role.DIM))]
    values = shown.frame.values
    name = loop.condition.name
    computed = between or name in values or loop.condition.constant is not None
    if not computed:
        return [_row("now", ("·", Role.DIM), (f"  {quote(name)} is not computed yet", Role.DIM))]
    value = frame.condition if between else _truth(shown.frame, loop)
    return [_row("now", (_word(value), Role.VALUE), *_sides(shown.frame, loop))]


def _truth(view: FrameView, loop: Loop) -> bool:
    assert loop.condition is not None
    value = view.values.get(loop.condition.name, loop.condition.constant)
    return bool(value is not None and value.size and value.reshape(-1)[0])


def _word(condition: bool) -> str:
    return "true" if condition else "false"


def _sides(view: FrameView, loop: Loop) -> list[Span]:
    compared = wording.comparison(loop)
    if compared is None:
        return []
    told = []
    for side in (compared.left, compared.right):
        value = side.constant if side.constant is not None else view.values.get(side.name)
        if value is None:
            return []
        told.append(short_value(value, 16))
    return [(f"  {told[0]} {compared.sign} {told[1]}", Role.PLAIN)]


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


def _ends(shown: Shown, loop: Loop) -> list[Line]:
    frame = shown.frame.frame
    if frame.stopped_by is not None:
        return [_row("ended", (_why(frame.stopped_by, loop, frame.iteration), Role.MARK))]
    text = wording.ends(loop, frame.trip_count)
    compared = wording.comparison(loop)
    if compared is not None:
        text = f"when {compared.opposite}" + (f", or after {frame.trip_count}" if frame.trip_count is not None else "")
    return [_row("ends", (text, Role.PLAIN))]


def _why(reason: StoppedBy, loop: Loop, iteration: int) -> str:
    when = f"after {iteration}" if iteration else "at entry"
    if reason is StoppedBy.CONDITION:
        condition = loop.condition if iteration else loop.initial_condition
        name = quote(condition.name) if condition is not None else "the condition"
        return f"{when}: {name} is false"
    word = {StoppedBy.TRIP_COUNT: "the trip count is reached", StoppedBy.INPUT_EXHAUSTED: "no part is left"}
    return f"{when}: {word.get(reason, str(reason))}"


def _ignored(loop: Loop) -> list[Line]:
    if loop.ignored_condition is None:
        return []
    name = quote(loop.ignored_condition.name)
    return [_row("note", (f"{name} is ignored: the loop's cond is absent", Role.DIM))]


def _plot(view: FrameView, width: int, height: int) -> list[Line]:
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
    assert view.frame.loop is not None
    compared = wording.comparison(view.frame.loop)
    if not rows or compared is None:
        return []
    sign = "─" if len(set(data.right)) == 1 else "○"
    key = f"● {wording.operand(compared.left)}   {sign} {wording.operand(compared.right)}   by iteration"
    return [*(line((row, Role.PLOT)) for row in rows), line((key, Role.DIM))]
