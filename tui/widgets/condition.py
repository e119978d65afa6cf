"""Whether the loop goes on: what decides it, how it went, what ends the loop."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...debugger.describe.condition import NEGATED_SIGN, DecidingComparison, NegatedDecision, comparisons, decision_text
from ...debugger.describe.frame_text import end_text
from ...debugger.describe.loop_text import LoopText
from ...debugger.describe.node_text import NodeFormatter
from ...debugger.describe.value_names import display_name
from ...debugger.statistics.value_history import ValueHistory, is_exact
from ...debugger.termination.trend import TurningEstimate
from ...runtime.graph import Loop, Value
from ...runtime.text import count_text
from ..render.formatting import number_text
from ..render.history_plots import comparison_points, distance_text, estimate_crossing
from ..render.pane_layout import ONE_LINE, UNLIMITED_LINES, SpaceRequest
from ..render.pseudo_code import program_source
from ..render.stop_view import FrameView, ScreenState
from ..render.styled_text import Role, Span, StyledLine, styled_line, truncate
from ..render.targets import ValueTarget
from ..render.text_plots import FORECAST_SIGN, draw_points, scale_name
from ..render.value_cells import NOT_COMPUTED_SIGN, short_value, value_span
from .pane import Pane

_LABEL_CELLS = 7
#: The rows that a plot needs to say anything.
_PLOT_MIN_ROWS = 5
_PLOT_MAX_ROWS = 30


class ConditionPane(Pane):
    """The condition in force, its values so far, the trip count, and the two sides of the deciding comparison."""

    def __init__(self, id: str) -> None:
        super().__init__("Condition", id)

    def space_request(self, shown: ScreenState) -> SpaceRequest | None:
        view = shown.frame
        loop = view.frame.loop
        if loop is None:
            return None
        if view.frame.condition is None or not program_source(shown.main_graph).loop_text(loop).condition_decides:
            return ONE_LINE
        return SpaceRequest(3, UNLIMITED_LINES) if has_plot(shown) else SpaceRequest(2, 4 + len(_ignored_lines(loop)))

    def one_line_spans(self, shown: ScreenState) -> Sequence[Span]:
        loop, frame = shown.frame.frame.loop, shown.frame.frame
        if loop is None:
            return [("no loop runs here", Role.DIM)]
        phrases, text = program_source(shown.main_graph).formatter, program_source(shown.main_graph).loop_text(loop)
        if frame.condition is not None and text.condition_decides:
            return [
                (text.condition, Role.NAME),
                ("   ", Role.PLAIN),
                *(_current_lines(shown, loop, phrases, text)[0].spans[1:]),
            ]
        return _no_condition_spans(shown.frame, loop, text)

    def build(self, shown: ScreenState, width: int, height: int) -> Sequence[StyledLine]:
        view = shown.frame
        loop = view.frame.loop
        if loop is None:
            self.set_title("Condition")
            return [styled_line(("no loop runs here", Role.DIM))]
        phrases, text = program_source(shown.main_graph).formatter, program_source(shown.main_graph).loop_text(loop)
        decides = view.frame.condition is not None and text.condition_decides
        self.set_title(f"Condition  {text.condition if decides else 'decides nothing'}".rstrip())
        ends = _end_lines(shown, text, width)
        found = _crossing_estimate(view, text) if decides else None
        rest = [
            *(_boundary_lines(view, width) if decides else ()),
            *(_crossing_lines(view, text, found, width) if decides else ()),
            *_ignored_lines(loop),
        ]
        now = _current_lines(shown, loop, phrases, text) if decides else []
        if now and loop.condition is not None:
            asked = ValueTarget(loop.condition.name, shown.depth, graph_value=loop.condition)
            now = [replace(now[0], target=asked), *now[1:]]
        # A picture, and what follows, say more than the end of a sentence that the source has as well.
        short = (
            [
                _labelled_line(
                    "ends", (truncate(text.termination_sentences[0], max(20, width - _LABEL_CELLS)), Role.PLAIN)
                )
            ]
            if len(ends) > 1
            else ends
        )
        for told in (ends, short):
            lines = [*now, *told, *rest]
            # An empty line between them where there is room for one.
            between = [styled_line()] if height - len(lines) > _PLOT_MIN_ROWS else []
            plotted = _plot_lines(view, text, found, width, height - len(lines) - len(between))
            if plotted:
                return [*lines, *between, *plotted]
        return [*now, *(ends if len(now) + len(ends) + len(rest) <= height else short), *rest]


def has_plot(shown: ScreenState) -> bool:
    """True where a plot would have something to show now or later: the pane then takes the room that is left."""
    loop = shown.frame.frame.loop
    return loop is not None and program_source(shown.main_graph).loop_text(loop).sides is not None


def _labelled_line(label: str, *spans: Span) -> StyledLine:
    return styled_line((f"{label:<{_LABEL_CELLS}}", Role.DIM), *spans)


def _current_lines(shown: ScreenState, loop: Loop, phrases: NodeFormatter, text: LoopText) -> list[StyledLine]:
    frame = shown.frame.frame
    if frame.condition is None:
        return []
    between = frame.at_boundary or shown.depth is None
    if between and not frame.iteration and loop.condition_node_count is None:
        outer = loop.initial_condition
        name = f"  initial: {phrases.operand(outer, bare=True)}" if outer is not None else "  initial"
        return [_labelled_line("now", _truth_span(frame.condition), (name, Role.DIM))]
    if loop.condition is None:
        return [_labelled_line("now", _truth_span(frame.condition), ("  nothing in the body changes it", Role.DIM))]
    value = frame.condition if between else _condition_value(shown.frame, loop.condition)
    if value is None:
        return [
            _labelled_line(
                "now",
                (NOT_COMPUTED_SIGN, Role.DIM),
                (f"  {display_name(loop.condition)} is not computed yet", Role.DIM),
            )
        ]
    return [_labelled_line("now", _truth_span(value), *_comparison_spans(shown.frame, text, phrases))]


def _condition_value(view: FrameView, condition: Value) -> bool | None:
    value = view.frame.values.get(condition.name, condition.constant)
    return None if value is None else bool(value.size and value.reshape(-1)[0])


def _truth_span(condition: bool) -> Span:
    return value_span("true" if condition else "false", Role.VALUE)


class _CurrentOperands:
    """Writes operands as what they are now."""

    def __init__(self, view: FrameView, phrases: NodeFormatter) -> None:
        self.view = view
        self.phrases = phrases
        self.complete = True

    def operand(self, value: Value | None, *, bare: bool = False) -> str:
        data = self.phrases.constant(value)
        if data is None and value is not None:
            frame = self.view.frame
            ahead = frame.loop is not None and frame.loop.condition_node_count is not None and frame.at_boundary
            # What is asked before an iteration is about what that one gets.
            data = frame.carried.get(value.name) if ahead else None
            data = frame.values.get(value.name) if data is None else data
        self.complete = self.complete and data is not None
        return short_value(data, 16)


def _comparison_spans(view: FrameView, text: LoopText, phrases: NodeFormatter) -> list[Span]:
    """The comparisons that decide, with what is compared."""
    if text.decision is None or not comparisons(text.decision):
        return []
    now = _CurrentOperands(view, phrases)
    told = decision_text(text.decision, now)
    return [(f"  {told}", Role.PLAIN)] if now.complete else []


def _boundary_lines(view: FrameView, width: int) -> list[StyledLine]:
    """``T T T F``: whether the loop went on at each boundary, the first one included; ``·``: not computed yet."""
    frame = view.frame
    if frame.condition is None:
        return []
    # Every iteration that ran was allowed to; only of the next one it can be otherwise.
    between = frame.at_boundary or frame.stopped_by is not None
    last = ("T" if frame.condition else "F") if between else "·"
    true = frame.iteration + (1 if not between or frame.condition else 0)
    signs = "T" * (true - (between and frame.condition)) + last
    room, count = width - _LABEL_CELLS, f"   {true} times true"
    if 2 * len(signs) - 1 <= room:
        return [_labelled_line("seen", *_truth_spans(" ".join(signs)))]
    if len(signs) + len(count) <= room:
        return [_labelled_line("seen", *_truth_spans(signs), (count, Role.DIM))]
    head = max(1, (room - len(count) - 1) // 2)
    tail = max(1, room - len(count) - 1 - head)
    return [_labelled_line("seen", *_truth_spans(f"{signs[:head]}…{signs[-tail:]}"), (count, Role.DIM))]


def _truth_spans(signs: str) -> list[Span]:
    """Only the last can be false: it ends the loop."""
    return [(signs[:-1], Role.PLOT), ("F", Role.ERROR)] if signs.endswith("F") else [(signs, Role.PLOT)]


def _no_condition_spans(view: FrameView, loop: Loop, text: LoopText) -> list[Span]:
    """``none, 25 trips``: what ends a loop that no condition ends, and that one is ignored."""
    frame = view.frame
    trips = "" if frame.trip_count is None else f", {count_text(frame.trip_count, 'trip')}"
    told: list[Span] = [(f"none{trips}", Role.DIM)]
    if loop.ignored_condition is not None:
        told.append((f" ({display_name(loop.ignored_condition)} is ignored)", Role.DIM))
    if frame.stopped_by is not None:
        return [*told, (f"; {end_text(frame.stopped_by, frame.iteration)}", Role.MARK)]
    ends = text.termination_sentences[0].rstrip(".")
    return [*told, (f"; ends {ends[:1].lower()}{ends[1:]}", Role.DIM)]


def _end_lines(shown: ScreenState, text: LoopText, width: int) -> list[StyledLine]:
    frame = shown.frame.frame
    if frame.stopped_by is not None:
        return [_labelled_line("", (end_text(frame.stopped_by, frame.iteration), Role.MARK))]
    told = textwrap.wrap(text.termination_sentences[0], max(20, width - _LABEL_CELLS))
    return [_labelled_line("" if k else "ends", (row, Role.PLAIN)) for k, row in enumerate(told)]


def _ignored_lines(loop: Loop) -> list[StyledLine]:
    if loop.ignored_condition is None:
        return []
    return [
        _labelled_line(
            "note", (f"{display_name(loop.ignored_condition)} is ignored: the loop's cond is absent", Role.DIM)
        )
    ]


def _compared_histories(view: FrameView, text: LoopText) -> tuple[ValueHistory, ValueHistory] | None:
    """The two sides while one comparison of them decides whether it goes on."""
    sides = view.frame.history.sides
    there = sides is not None and text.sides is not None and view.frame.stopped_by is None and len(sides[0]) > 0
    return sides if there and _comparison_sign(text) else None


def _crossing_lines(view: FrameView, text: LoopText, found: TurningEstimate | None, width: int) -> list[StyledLine]:
    """How far the two sides are apart, and about when they meet."""
    sides = _compared_histories(view, text)
    if sides is None:
        return []
    newest = float(sides[0].values[-1]), float(sides[1].values[-1])
    dtype = _comparison_dtype(view, text)
    known = dtype is None or all(is_exact(number, dtype.name) for number in newest)
    told = distance_text(*newest) if known else ""
    if found is not None and found.iterations is not None:
        told += f"{', ' if told else ''}estimate: about {count_text(found.iterations, 'more iteration')}"
    elif found is not None and found.text:
        told += f"{', ' if told else ''}estimate: {found.text}"
    rows = textwrap.wrap(told, max(20, width - _LABEL_CELLS))[:2]
    return [_labelled_line("" if k else "apart", (row, Role.PLAIN)) for k, row in enumerate(rows)]


def _crossing_estimate(view: FrameView, text: LoopText) -> TurningEstimate | None:
    sides = _compared_histories(view, text)
    return (
        None
        if sides is None or text.sides is None
        else estimate_crossing(sides, _comparison_sign(text), text.sides, _comparison_dtype(view, text))
    )


def _deciding_comparison(text: LoopText) -> tuple[DecidingComparison | None, bool]:
    """The comparison that decides, if it is one, and whether the loop goes on while it is false."""
    of, opposite = text.decision, False
    while isinstance(of, NegatedDecision):
        of, opposite = of.operand, not opposite
    return (of, opposite) if isinstance(of, DecidingComparison) else (None, opposite)


def _comparison_sign(text: LoopText) -> str:
    """The comparison that is true while the loop goes on; "" where it is not one comparison."""
    of, opposite = _deciding_comparison(text)
    if of is None:
        return ""
    return NEGATED_SIGN[of.sign] if opposite else of.sign


def _comparison_dtype(view: FrameView, text: LoopText) -> np.dtype[Any] | None:
    """The dtype of both sides of the comparison that decides; None where it is not known."""
    of, _ = _deciding_comparison(text)
    for value in () if of is None else (of.left, of.right):
        data = value.constant if value.constant is not None else view.frame.values.get(value.name)
        if isinstance(dtype := getattr(data, "dtype", None), np.dtype):
            return dtype
    return None


def _plot_lines(
    view: FrameView, text: LoopText, found: TurningEstimate | None, width: int, height: int
) -> list[StyledLine]:
    sides = view.frame.history.sides
    if height < _PLOT_MIN_ROWS or sides is None or text.sides is None:
        return []
    data = comparison_points(sides, found)
    rows = draw_points(data, width, min(height - 1, _PLOT_MAX_ROWS)) if data is not None else []
    if data is None or not rows:
        return []
    sign = "○" if data.threshold is None else "─"
    left, right = text.sides
    each = f", {sides[0].bucket} a point" if sides[0].bucket > 1 else ""
    guess = f"   {FORECAST_SIGN} estimate" if data.forecast else ""
    # Its number stands beside the line too; a constant is its own name.
    number = "" if data.threshold is None or right == number_text(data.threshold) else number_text(data.threshold)
    forms = [f"{right} = {number}", right] if number else [right]
    keys = [f"● {left}   {sign} {one}{guess}   by iteration{each}, {scale_name(data)}" for one in forms]
    key = next((one for one in keys if len(one) <= width), keys[-1])
    return [*(styled_line(*_plot_spans(row)) for row in rows), styled_line((key, Role.DIM))]


def _plot_spans(row: str) -> list[Span]:
    """What is guessed is dim."""
    return [
        (part, Role.DIM if part[0] == FORECAST_SIGN else Role.PLOT)
        for part in re.split(f"({FORECAST_SIGN}+)", row)
        if part
    ]
