"""Whether the loop goes on: what decides it, how it went, what ends the loop."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...debugger.statistics.history import History, is_exact
from ...debugger.why.trend import Estimate
from ...debugger.words.condition import OPPOSITE, DecidingComparison, Inverted, comparisons, decision_text
from ...debugger.words.loop_text import LoopText
from ...debugger.words.moments import ended
from ...debugger.words.names import named
from ...debugger.words.node_text import Phrases
from ...runtime.graph import Loop, Value
from ...runtime.text import counted
from ..screen.cells import NOT_YET, short_value, valued
from ..screen.evolution import both_sides, distance, meeting
from ..screen.layout import ALL, LINE, Need
from ..screen.lines import Line, Role, Span, fit, line
from ..screen.plots import AHEAD, points, scale_of
from ..screen.program import program
from ..screen.targets import ValueTarget
from ..screen.text import number_text
from ..screen.view import FrameView, Shown
from .pane import Pane

_LABEL = 7
#: The rows that a plot needs to say anything.
_LEAST_PLOT = 5
_HIGHEST = 30


class Condition(Pane):
    """The condition in force, its values so far, the trip count, and the two sides of the deciding comparison."""

    def __init__(self, id: str) -> None:
        super().__init__("Condition", id)

    def need(self, shown: Shown) -> Need | None:
        view = shown.frame
        loop = view.frame.loop
        if loop is None:
            return None
        if view.frame.condition is None or not program(shown.main).said(loop).decides:
            return LINE
        return Need(3, ALL) if plottable(shown) else Need(2, 4 + len(_ignored(loop)))

    def brief(self, shown: Shown) -> Sequence[Span]:
        loop, frame = shown.frame.frame.loop, shown.frame.frame
        if loop is None:
            return [("no loop runs here", Role.DIM)]
        phrases, text = program(shown.main).phrases, program(shown.main).said(loop)
        if frame.condition is not None and text.decides:
            return [(text.condition, Role.NAME), ("   ", Role.PLAIN), *(_now(shown, loop, phrases, text)[0].spans[1:])]
        return _without(shown.frame, loop, text)

    def build(self, shown: Shown, width: int, height: int) -> Sequence[Line]:
        view = shown.frame
        loop = view.frame.loop
        if loop is None:
            self.set_title("Condition")
            return [line(("no loop runs here", Role.DIM))]
        phrases, text = program(shown.main).phrases, program(shown.main).said(loop)
        decides = view.frame.condition is not None and text.decides
        self.set_title(f"Condition  {text.condition if decides else 'decides nothing'}".rstrip())
        ends = _ends(shown, text, width)
        found = _estimate(view, text) if decides else None
        rest = [
            *(_seen(view, width) if decides else ()),
            *(_meeting(view, text, found, width) if decides else ()),
            *_ignored(loop),
        ]
        now = _now(shown, loop, phrases, text) if decides else []
        if now and loop.condition is not None:
            asked = ValueTarget(loop.condition.name, shown.depth, declared=loop.condition)
            now = [replace(now[0], target=asked), *now[1:]]
        # A picture, and what follows, say more than the end of a sentence that the source has as well.
        short = [_row("ends", (fit(text.ends[0], max(20, width - _LABEL)), Role.PLAIN))] if len(ends) > 1 else ends
        for told in (ends, short):
            lines = [*now, *told, *rest]
            # An empty line between them where there is room for one.
            between = [line()] if height - len(lines) > _LEAST_PLOT else []
            plotted = _plot(view, text, found, width, height - len(lines) - len(between))
            if plotted:
                return [*lines, *between, *plotted]
        return [*now, *(ends if len(now) + len(ends) + len(rest) <= height else short), *rest]


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
    if between and not frame.iteration and loop.tested is None:
        outer = loop.initial_condition
        name = f"  initial: {phrases.operand(outer, bare=True)}" if outer is not None else "  initial"
        return [_row("now", _word(frame.condition), (name, Role.DIM))]
    if loop.condition is None:
        return [_row("now", _word(frame.condition), ("  nothing in the body changes it", Role.DIM))]
    value = frame.condition if between else _truth(shown.frame, loop.condition)
    if value is None:
        return [_row("now", (NOT_YET, Role.DIM), (f"  {named(loop.condition)} is not computed yet", Role.DIM))]
    return [_row("now", _word(value), *_sides(shown.frame, text, phrases))]


def _truth(view: FrameView, condition: Value) -> bool | None:
    value = view.frame.values.get(condition.name, condition.constant)
    return None if value is None else bool(value.size and value.reshape(-1)[0])


def _word(condition: bool) -> Span:
    return valued("true" if condition else "false", Role.VALUE)


class _Now:
    """Writes operands as what they are now."""

    def __init__(self, view: FrameView, phrases: Phrases) -> None:
        self.view = view
        self.phrases = phrases
        self.complete = True

    def operand(self, value: Value | None, *, bare: bool = False) -> str:
        data = self.phrases.constant(value)
        if data is None and value is not None:
            frame = self.view.frame
            ahead = frame.loop is not None and frame.loop.tested is not None and frame.at_boundary
            # What is asked before an iteration is about what that one gets.
            data = frame.carried.get(value.name) if ahead else None
            data = frame.values.get(value.name) if data is None else data
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
    """``T T T F``: whether the loop went on at each boundary, the first one included; ``·``: not computed yet."""
    frame = view.frame
    if frame.condition is None:
        return []
    # Every iteration that ran was allowed to; only of the next one it can be otherwise.
    between = frame.at_boundary or frame.stopped_by is not None
    last = ("T" if frame.condition else "F") if between else "·"
    true = frame.iteration + (1 if not between or frame.condition else 0)
    signs = "T" * (true - (between and frame.condition)) + last
    room, count = width - _LABEL, f"   {true} times true"
    if 2 * len(signs) - 1 <= room:
        return [_row("seen", *_truths(" ".join(signs)))]
    if len(signs) + len(count) <= room:
        return [_row("seen", *_truths(signs), (count, Role.DIM))]
    head = max(1, (room - len(count) - 1) // 2)
    tail = max(1, room - len(count) - 1 - head)
    return [_row("seen", *_truths(f"{signs[:head]}…{signs[-tail:]}"), (count, Role.DIM))]


def _truths(signs: str) -> list[Span]:
    """Only the last can be false: it ends the loop."""
    return [(signs[:-1], Role.PLOT), ("F", Role.ERROR)] if signs.endswith("F") else [(signs, Role.PLOT)]


def _without(view: FrameView, loop: Loop, text: LoopText) -> list[Span]:
    """``none, 25 trips``: what ends a loop that no condition ends, and that one is ignored."""
    frame = view.frame
    trips = "" if frame.trip_count is None else f", {counted(frame.trip_count, 'trip')}"
    told: list[Span] = [(f"none{trips}", Role.DIM)]
    if loop.ignored_condition is not None:
        told.append((f" ({named(loop.ignored_condition)} is ignored)", Role.DIM))
    if frame.stopped_by is not None:
        return [*told, (f"; {ended(frame.stopped_by, frame.iteration)}", Role.MARK)]
    ends = text.ends[0].rstrip(".")
    return [*told, (f"; ends {ends[:1].lower()}{ends[1:]}", Role.DIM)]


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


def _compared(view: FrameView, text: LoopText) -> tuple[History, History] | None:
    """The two sides while one comparison of them decides whether it goes on."""
    sides = view.frame.history.sides
    there = sides is not None and text.sides is not None and view.frame.stopped_by is None and len(sides[0]) > 0
    return sides if there and _sign(text) else None


def _meeting(view: FrameView, text: LoopText, found: Estimate | None, width: int) -> list[Line]:
    """How far the two sides are apart, and about when they meet."""
    sides = _compared(view, text)
    if sides is None:
        return []
    newest = float(sides[0].values[-1]), float(sides[1].values[-1])
    dtype = _dtype(view, text)
    known = dtype is None or all(is_exact(number, dtype.name) for number in newest)
    told = distance(*newest) if known else ""
    if found is not None and found.iterations is not None:
        told += f"{', ' if told else ''}estimate: about {counted(found.iterations, 'more iteration')}"
    elif found is not None and found.text:
        told += f"{', ' if told else ''}estimate: {found.text}"
    rows = textwrap.wrap(told, max(20, width - _LABEL))[:2]
    return [_row("" if k else "apart", (row, Role.PLAIN)) for k, row in enumerate(rows)]


def _estimate(view: FrameView, text: LoopText) -> Estimate | None:
    sides = _compared(view, text)
    return None if sides is None or text.sides is None else meeting(sides, _sign(text), text.sides, _dtype(view, text))


def _comparison(text: LoopText) -> tuple[DecidingComparison | None, bool]:
    """The comparison that decides, if it is one, and whether the loop goes on while it is false."""
    of, opposite = text.decision, False
    while isinstance(of, Inverted):
        of, opposite = of.of, not opposite
    return (of, opposite) if isinstance(of, DecidingComparison) else (None, opposite)


def _sign(text: LoopText) -> str:
    """The comparison that is true while the loop goes on; "" where it is not one comparison."""
    of, opposite = _comparison(text)
    if of is None:
        return ""
    return OPPOSITE[of.sign] if opposite else of.sign


def _dtype(view: FrameView, text: LoopText) -> np.dtype[Any] | None:
    """The dtype of both sides of the comparison that decides; None where it is not known."""
    of, _ = _comparison(text)
    for value in () if of is None else (of.left, of.right):
        data = value.constant if value.constant is not None else view.frame.values.get(value.name)
        if isinstance(dtype := getattr(data, "dtype", None), np.dtype):
            return dtype
    return None


def _plot(view: FrameView, text: LoopText, found: Estimate | None, width: int, height: int) -> list[Line]:
    sides = view.frame.history.sides
    if height < _LEAST_PLOT or sides is None or text.sides is None:
        return []
    data = both_sides(sides, found)
    rows = points(data, width, min(height - 1, _HIGHEST)) if data is not None else []
    if data is None or not rows:
        return []
    sign = "○" if data.threshold is None else "─"
    left, right = text.sides
    each = f", {sides[0].bucket} a point" if sides[0].bucket > 1 else ""
    guess = f"   {AHEAD} estimate" if data.ahead else ""
    # Its number stands beside the line too; a constant is its own name.
    number = "" if data.threshold is None or right == number_text(data.threshold) else number_text(data.threshold)
    forms = [f"{right} = {number}", right] if number else [right]
    keys = [f"● {left}   {sign} {one}{guess}   by iteration{each}, {scale_of(data)}" for one in forms]
    key = next((one for one in keys if len(one) <= width), keys[-1])
    return [*(line(*_dotted(row)) for row in rows), line((key, Role.DIM))]


def _dotted(row: str) -> list[Span]:
    """What is guessed is dim."""
    return [(part, Role.DIM if part[0] == AHEAD else Role.PLOT) for part in re.split(f"({AHEAD}+)", row) if part]
