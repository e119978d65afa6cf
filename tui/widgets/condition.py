"""Pane of the loop condition: the deciding comparison, its history, and what ends the loop."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...debugger.describe.condition_analysis import (
    NEGATED_SIGN,
    DecidingComparison,
    NegatedDecision,
    comparisons,
    decision_text,
)
from ...debugger.describe.frame_text import end_text
from ...debugger.describe.loop_text import LoopText
from ...debugger.describe.node_text import NodeFormatter
from ...debugger.describe.value_names import display_name
from ...debugger.frame_state import FrameState
from ...debugger.statistics.value_history import ValueHistory, is_exact
from ...debugger.termination.trend import TurningEstimate
from ...runtime.graph import Loop, Value
from ...runtime.text import count_text
from ..render.formatting import number_text
from ..render.history_plots import comparison_points, distance_text, estimate_crossing
from ..render.pane_layout import ONE_LINE, UNLIMITED_LINES, SpaceRequest
from ..render.pseudo_code import model_pseudo_code
from ..render.stop_view import ScreenState
from ..render.styled_text import Role, Span, StyledLine, styled_line, truncate
from ..render.targets import ValueTarget
from ..render.text_plots import FORECAST_SIGN, draw_points, scale_name
from ..render.value_cells import NOT_COMPUTED_SIGN, short_value, value_span
from .pane import Pane

_LABEL_CELLS = 7
#: The minimum height of a legible plot.
_PLOT_MIN_ROWS = 5
_PLOT_MAX_ROWS = 30


class ConditionPane(Pane):
    """The condition in force, its values so far, the trip count, and the two sides of the deciding comparison."""

    def __init__(self, id: str) -> None:
        super().__init__("Condition", id)

    def space_request(self, state: ScreenState) -> SpaceRequest | None:
        frame = state.frame
        loop = frame.loop
        if loop is None:
            return None
        if frame.condition is None or not model_pseudo_code(state.main_graph).loop_text(loop).condition_decides:
            return ONE_LINE
        return (
            SpaceRequest(3, UNLIMITED_LINES)
            if can_have_plot(state)
            else SpaceRequest(2, 4 + len(_ignored_condition_lines(loop)))
        )

    def one_line_spans(self, state: ScreenState) -> Sequence[Span]:
        loop, frame = state.frame.loop, state.frame
        if loop is None:
            return [("no loop runs here", Role.DIM)]
        phrases, text = (
            model_pseudo_code(state.main_graph).formatter,
            model_pseudo_code(state.main_graph).loop_text(loop),
        )
        if frame.condition is not None and text.condition_decides:
            return [
                (text.condition, Role.NAME),
                ("   ", Role.PLAIN),
                *(_current_lines(state, loop, phrases, text)[0].spans[1:]),
            ]
        return _no_condition_spans(state.frame, loop, text)

    def build(self, state: ScreenState, width: int, height: int) -> Sequence[StyledLine]:
        frame = state.frame
        loop = frame.loop
        if loop is None:
            self.set_title("Condition")
            return [styled_line(("no loop runs here", Role.DIM))]
        phrases, text = (
            model_pseudo_code(state.main_graph).formatter,
            model_pseudo_code(state.main_graph).loop_text(loop),
        )
        decides = frame.condition is not None and text.condition_decides
        self.set_title(f"Condition  {text.condition if decides else 'decides nothing'}".rstrip())
        ends = _loop_end_lines(state, text, width)
        estimate = _crossing_estimate(frame, text) if decides else None
        details = [
            *(_condition_history_lines(frame, width) if decides else ()),
            *(_crossing_lines(frame, text, estimate, width) if decides else ()),
            *_ignored_condition_lines(loop),
        ]
        current = _current_lines(state, loop, phrases, text) if decides else []
        if current and loop.condition is not None:
            target = ValueTarget(loop.condition.name, state.depth, graph_value=loop.condition)
            current = [replace(current[0], target=target), *current[1:]]
        # Shorten the termination sentence, which the source pane shows in full, to leave space for the plot.
        short = (
            [
                _labelled_line(
                    "ends", (truncate(text.termination_sentences[0], max(20, width - _LABEL_CELLS)), Role.PLAIN)
                )
            ]
            if len(ends) > 1
            else ends
        )
        for termination in (ends, short):
            lines = [*current, *termination, *details]
            separator = [styled_line()] if height - len(lines) > _PLOT_MIN_ROWS else []
            plot = _plot_lines(frame, text, estimate, width, height - len(lines) - len(separator))
            if plot:
                return [*lines, *separator, *plot]
        return [*current, *(ends if len(current) + len(ends) + len(details) <= height else short), *details]


def can_have_plot(state: ScreenState) -> bool:
    """Whether the loop can have a plot, now or later: the pane then takes all remaining lines."""
    loop = state.frame.loop
    return loop is not None and model_pseudo_code(state.main_graph).loop_text(loop).sides is not None


def _labelled_line(label: str, *spans: Span) -> StyledLine:
    return styled_line((f"{label:<{_LABEL_CELLS}}", Role.DIM), *spans)


def _current_lines(state: ScreenState, loop: Loop, phrases: NodeFormatter, text: LoopText) -> list[StyledLine]:
    frame = state.frame
    if frame.condition is None:
        return []
    at_boundary = frame.at_boundary or state.depth is None
    if at_boundary and not frame.iteration and loop.condition_node_count is None:
        initial = loop.initial_condition
        name = f"  initial: {phrases.operand(initial, bare=True)}" if initial is not None else "  initial"
        return [_labelled_line("now", _truth_span(frame.condition), (name, Role.DIM))]
    if loop.condition is None:
        return [_labelled_line("now", _truth_span(frame.condition), ("  nothing in the body changes it", Role.DIM))]
    value = frame.condition if at_boundary else _condition_value(state.frame, loop.condition)
    if value is None:
        return [
            _labelled_line(
                "now",
                (NOT_COMPUTED_SIGN, Role.DIM),
                (f"  {display_name(loop.condition)} is not computed yet", Role.DIM),
            )
        ]
    return [_labelled_line("now", _truth_span(value), *_comparison_spans(state.frame, text, phrases))]


def _condition_value(frame: FrameState, condition: Value) -> bool | None:
    value = frame.values.get(condition.name, condition.constant)
    return None if value is None else bool(value.size and value.reshape(-1)[0])


def _truth_span(condition: bool) -> Span:
    return value_span("true" if condition else "false", Role.VALUE)


class _CurrentOperands:
    """Formats operands as their current values."""

    def __init__(self, frame: FrameState, phrases: NodeFormatter) -> None:
        self.frame = frame
        self.phrases = phrases
        self.complete = True

    def operand(self, value: Value | None, *, bare: bool = False) -> str:
        data = self.phrases.constant(value)
        if data is None and value is not None:
            frame = self.frame
            is_pretest = frame.loop is not None and frame.loop.condition_node_count is not None and frame.at_boundary
            # A condition tested before the iteration reads the values carried into it.
            data = frame.carried.get(value.name) if is_pretest else None
            data = frame.values.get(value.name) if data is None else data
        self.complete = self.complete and data is not None
        return short_value(data, 16)


def _comparison_spans(frame: FrameState, text: LoopText, phrases: NodeFormatter) -> list[Span]:
    """The deciding comparisons with the current operand values."""
    if text.decision is None or not comparisons(text.decision):
        return []
    operands = _CurrentOperands(frame, phrases)
    comparison = decision_text(text.decision, operands)
    return [(f"  {comparison}", Role.PLAIN)] if operands.complete else []


def _condition_history_lines(frame: FrameState, width: int) -> list[StyledLine]:
    """``T T T F``: the condition at each boundary, including the first; ``·``: not computed yet."""
    if frame.condition is None:
        return []
    # The condition was true before every iteration that ran; only the newest value can be false.
    at_boundary = frame.at_boundary or frame.stopped_by is not None
    last = ("T" if frame.condition else "F") if at_boundary else "·"
    true_count = frame.iteration + (1 if not at_boundary or frame.condition else 0)
    signs = "T" * (true_count - (at_boundary and frame.condition)) + last
    cells, count = width - _LABEL_CELLS, f"   {true_count} times true"
    if 2 * len(signs) - 1 <= cells:
        return [_labelled_line("seen", *_truth_spans(" ".join(signs)))]
    if len(signs) + len(count) <= cells:
        return [_labelled_line("seen", *_truth_spans(signs), (count, Role.DIM))]
    head = max(1, (cells - len(count) - 1) // 2)
    tail = max(1, cells - len(count) - 1 - head)
    return [_labelled_line("seen", *_truth_spans(f"{signs[:head]}…{signs[-tail:]}"), (count, Role.DIM))]


def _truth_spans(signs: str) -> list[Span]:
    """Only the last value can be false: it ends the loop."""
    return [(signs[:-1], Role.PLOT), ("F", Role.ERROR)] if signs.endswith("F") else [(signs, Role.PLOT)]


def _no_condition_spans(frame: FrameState, loop: Loop, text: LoopText) -> list[Span]:
    """``none, 25 trips``: what ends a loop without a condition, and whether a condition is ignored."""
    trips = "" if frame.trip_count is None else f", {count_text(frame.trip_count, 'trip')}"
    spans: list[Span] = [(f"none{trips}", Role.DIM)]
    if loop.ignored_condition is not None:
        spans.append((f" ({display_name(loop.ignored_condition)} is ignored)", Role.DIM))
    if frame.stopped_by is not None:
        return [*spans, (f"; {end_text(frame.stopped_by, frame.iteration)}", Role.MARK)]
    sentence = text.termination_sentences[0].rstrip(".")
    return [*spans, (f"; ends {sentence[:1].lower()}{sentence[1:]}", Role.DIM)]


def _loop_end_lines(state: ScreenState, text: LoopText, width: int) -> list[StyledLine]:
    frame = state.frame
    if frame.stopped_by is not None:
        return [_labelled_line("", (end_text(frame.stopped_by, frame.iteration), Role.MARK))]
    rows = textwrap.wrap(text.termination_sentences[0], max(20, width - _LABEL_CELLS))
    return [_labelled_line("" if k else "ends", (row, Role.PLAIN)) for k, row in enumerate(rows)]


def _ignored_condition_lines(loop: Loop) -> list[StyledLine]:
    if loop.ignored_condition is None:
        return []
    return [
        _labelled_line(
            "note", (f"{display_name(loop.ignored_condition)} is ignored: the loop's cond is absent", Role.DIM)
        )
    ]


def _compared_histories(frame: FrameState, text: LoopText) -> tuple[ValueHistory, ValueHistory] | None:
    """The histories of both sides, while a single comparison decides and the loop runs."""
    sides = frame.history.sides
    comparable = sides is not None and text.sides is not None and frame.stopped_by is None and len(sides[0]) > 0
    return sides if comparable and _comparison_sign(text) else None


def _crossing_lines(
    frame: FrameState, text: LoopText, estimate: TurningEstimate | None, width: int
) -> list[StyledLine]:
    """The distance of the two sides and the estimated iterations until they cross."""
    sides = _compared_histories(frame, text)
    if sides is None:
        return []
    newest = float(sides[0].values[-1]), float(sides[1].values[-1])
    dtype = _comparison_dtype(frame, text)
    exact = dtype is None or is_exact(newest, dtype.name)
    message = distance_text(*newest) if exact else ""
    if estimate is not None and estimate.iterations is not None:
        message += f"{', ' if message else ''}estimate: about {count_text(estimate.iterations, 'more iteration')}"
    elif estimate is not None and estimate.text:
        message += f"{', ' if message else ''}estimate: {estimate.text}"
    rows = textwrap.wrap(message, max(20, width - _LABEL_CELLS))[:2]
    return [_labelled_line("" if k else "apart", (row, Role.PLAIN)) for k, row in enumerate(rows)]


def _crossing_estimate(frame: FrameState, text: LoopText) -> TurningEstimate | None:
    sides = _compared_histories(frame, text)
    return (
        None
        if sides is None or text.sides is None
        else estimate_crossing(sides, _comparison_sign(text), text.sides, _comparison_dtype(frame, text))
    )


def _deciding_comparison(text: LoopText) -> tuple[DecidingComparison | None, bool]:
    """The deciding comparison, if it is a single one, and whether it is negated."""
    decision, negated = text.decision, False
    while isinstance(decision, NegatedDecision):
        decision, negated = decision.operand, not negated
    return (decision, negated) if isinstance(decision, DecidingComparison) else (None, negated)


def _comparison_sign(text: LoopText) -> str:
    """The comparison operator that is true while the loop continues; "" unless a single comparison decides."""
    comparison, negated = _deciding_comparison(text)
    if comparison is None:
        return ""
    return NEGATED_SIGN[comparison.sign] if negated else comparison.sign


def _comparison_dtype(frame: FrameState, text: LoopText) -> np.dtype[Any] | None:
    """The dtype of the deciding comparison; None if unknown."""
    comparison, _ = _deciding_comparison(text)
    for value in () if comparison is None else (comparison.left, comparison.right):
        data = value.constant if value.constant is not None else frame.values.get(value.name)
        if isinstance(dtype := getattr(data, "dtype", None), np.dtype):
            return dtype
    return None


def _plot_lines(
    frame: FrameState, text: LoopText, estimate: TurningEstimate | None, width: int, height: int
) -> list[StyledLine]:
    sides = frame.history.sides
    if height < _PLOT_MIN_ROWS or sides is None or text.sides is None:
        return []
    points = comparison_points(sides, estimate)
    rows = draw_points(points, width, min(height - 1, _PLOT_MAX_ROWS)) if points is not None else []
    if points is None or not rows:
        return []
    sign = "○" if points.threshold is None else "─"
    left, right = text.sides
    bucket = f", {sides[0].bucket} a point" if sides[0].bucket > 1 else ""
    forecast = f"   {FORECAST_SIGN} estimate" if points.forecast else ""
    # The key repeats the threshold's number, unless the name is that number.
    number = "" if points.threshold is None or right == number_text(points.threshold) else number_text(points.threshold)
    forms = [f"{right} = {number}", right] if number else [right]
    keys = [f"● {left}   {sign} {form}{forecast}   by iteration{bucket}, {scale_name(points)}" for form in forms]
    key = next((form for form in keys if len(form) <= width), keys[-1])
    return [*(styled_line(*_plot_spans(row)) for row in rows), styled_line((key, Role.DIM))]


def _plot_spans(row: str) -> list[Span]:
    """Forecast points are dim."""
    return [
        (part, Role.DIM if part[0] == FORECAST_SIGN else Role.PLOT)
        for part in re.split(f"({FORECAST_SIGN}+)", row)
        if part
    ]
