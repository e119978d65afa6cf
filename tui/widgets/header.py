"""The first line: model, frames, iteration, and the state of the session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from textual import events
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip

from ...debugger.frame_state import FrameState
from ...debugger.session.worker import RunProgress
from ..render.formatting import NO_LIMIT_TEXT, escape_unprintable, rate_text, trip_limit_text
from ..render.stop_view import ScreenState
from ..render.styled_text import Role, Span, StyledLine, shorten_name, styled_line, truncate_spans
from .strips import LineWidget

#: Between the names of frames.
_SEPARATOR = " ▸ "


@dataclass(frozen=True)
class _Breadcrumb:
    """A breadcrumb; ``depth`` is None unless it is a running frame."""

    text: str
    depth: int | None = None
    in_focus: bool = False


_OMITTED = _Breadcrumb("…")


class Header(LineWidget):
    """One line; its left part is shortened first."""

    class FrameSelected(Message):
        """The name of a frame was clicked; depth 0 is the main graph."""

        def __init__(self, depth: int) -> None:
            super().__init__()
            self.depth = depth

    screen_state: reactive[ScreenState | None] = reactive(None)
    #: The progress of a running command, once it takes noticeable time.
    progress: reactive[RunProgress | None] = reactive(None)

    def __init__(self, model: str, id: str) -> None:
        super().__init__(id)
        self._model = escape_unprintable(model)
        #: The cell range of each frame's name, and its depth.
        self._frame_cells: list[tuple[int, int, int]] = []

    @property
    def text(self) -> str:
        """The text of the line."""
        return self._header_line(self.size.width).text

    def render_line(self, y: int) -> Strip:
        """See :class:`~textual.widget.Widget`."""
        width = self.size.width
        return self.style_resolver.to_strip(self._header_line(width) if y == 0 else StyledLine(), width)

    def _header_line(self, width: int) -> StyledLine:
        state = self._state_spans()
        count = self._iteration_spans()
        marks, short_marks = self._warning_spans(), self._warning_spans(short=True)
        right: list[Span] = []
        for groups, min_left_cells in (
            ((marks, state, count), 30),
            ((short_marks, state, count), 18),
            ((state, count), 18),
            ((state,), 0),
        ):
            right = [span for spans in groups for span in spans]
            if width - _spans_length(right) >= min_left_cells:
                break
        left_cells = width - _spans_length(right) - 2
        left = self._breadcrumb_spans(left_cells, all(span in right for span in count))
        filler = " " * max(0, width - _spans_length(left) - _spans_length(right))
        return StyledLine(truncate_spans([*left, (filler, Role.PLAIN), *right], width))

    def _breadcrumb_spans(self, cells: int, counted: bool) -> list[Span]:
        """``loopdbg  model ▸ main ▸ outer 3/10 ▸ Loop 'inner'``, or what of it fits; ``counted``: the line
        shows the iteration of the frame in focus elsewhere."""
        state = self.screen_state
        steps = [_Breadcrumb(self._model if state is None else escape_unprintable(state.view.stop_state.model))]
        steps += self._frame_crumbs(counted)
        focus = next((k for k, path in enumerate(steps) if path.in_focus), len(steps) - 1)
        # From all crumbs down to the frame in focus alone; the model's name is dropped last.
        paths = [steps, steps[: focus + 1]]
        paths += [[steps[0], _OMITTED, *steps[max(1, focus - 1) : focus + 1]], [steps[0], _OMITTED, steps[focus]]]
        candidates = [path for path in paths if len(path) <= len(steps)] + [[steps[0], steps[focus]]] * (focus > 0)
        fits = [path for path in candidates if 1 + cell_len(_SEPARATOR.join(step.text for step in path)) <= cells]
        return self._crumb_spans(fits[0] if fits else [steps[focus]], cells)

    def _crumb_spans(self, steps: Sequence[_Breadcrumb], cells: int) -> list[Span]:
        """Style the crumbs, and record their clickable cells."""
        title = (
            " loopdbg  " if len(" loopdbg  ") + cell_len(_SEPARATOR.join(step.text for step in steps)) <= cells else " "
        )
        spans: list[Span] = [(title, Role.DIM)]
        self._frame_cells = []
        for k, step in enumerate(steps):
            begin = _spans_length(spans)
            # A single crumb is cut at its end.
            text = shorten_name(step.text, cells - begin) if len(steps) == 1 else step.text
            spans.append((text, Role.NAME if step.in_focus or len(steps) == 1 else Role.PLAIN))
            if step.depth is not None:
                self._frame_cells.append((begin, begin + cell_len(text), step.depth))
            if k < len(steps) - 1:
                spans.append((_SEPARATOR, Role.PLAIN))
        return list(truncate_spans(spans, max(0, cells)))

    def _frame_crumbs(self, counted: bool) -> list[_Breadcrumb]:
        """The running frames, and the frame in focus if it has ended."""
        if self.screen_state is None:
            return []
        frames, depth = self.screen_state.view.frames, self.screen_state.depth
        steps = [_Breadcrumb(_frame_text(frame, k == depth, counted), k, k == depth) for k, frame in enumerate(frames)]
        return (
            steps
            if depth is not None
            else [*steps, _Breadcrumb(_frame_text(self.screen_state.frame, True, counted), None, True)]
        )

    def on_click(self, event: events.Click) -> None:
        """Select the clicked frame."""
        target_depth = next((depth for begin, end, depth in self._frame_cells if begin <= event.x < end), None)
        if target_depth is not None:
            self.post_message(self.FrameSelected(target_depth))

    def _iteration_spans(self) -> list[Span]:
        """The iteration of the loop in focus."""
        if self.screen_state is None or self.screen_state.frame.loop is None:
            return []
        frame = self.screen_state.frame
        done, total = frame.iteration, frame.trip_count
        if self.progress is not None and self.screen_state.depth == 1:
            # A loop of the main graph is entered once: the progress counts this entry's iterations.
            done = max(done, self.progress.iterations.get(frame.path, done))
        limit = trip_limit_text(total)
        ended = frame.stopped_by is not None and self.progress is None
        return [(f"  {'ended after' if ended else 'iteration'} {done} / {limit} ", Role.VALUE)]

    def _warning_spans(self, short: bool = False) -> list[Span]:
        """Warnings: random inputs, a recording, a branch other than the first. ``short``: without seeds."""
        if self.screen_state is None:
            return []
        spans: list[Span] = []
        seeds = self.screen_state.seeds
        if seeds:
            numbers = "" if short else f" inputs, seed{'s' * (len(seeds) > 1)} {', '.join(map(str, seeds))}"
            spans.append((f"RANDOM{numbers}   ", Role.MARK))
        if self.screen_state.view.stop_state.is_recording:
            spans.append(("RECORDING   ", Role.ERROR))
        branch = next((branch.number for branch in self.screen_state.view.stop_state.branches if branch.current), 1)
        if branch != 1:
            spans.append((f"branch {branch}   ", Role.MARK))
        return spans

    def _state_spans(self) -> list[Span]:
        if self.progress is not None:
            rate = f" {rate_text(self.progress.rate)}" if self.progress.rate else ""
            return [(f"▶ running {self.progress.seconds:.1f} s{rate} ", Role.MARK)]
        if self.screen_state is None:
            return [("▶ starting ", Role.MARK)]
        if self.screen_state.done:
            return [("■ ended ", Role.MARK)]
        if self.screen_state.failed:
            return [("✗ error ", Role.ERROR)]
        return [(f"■ paused: {self.screen_state.view.stop_state.stop.reason} ", Role.MARK)]


def _frame_text(frame: FrameState, in_focus: bool, counted: bool) -> str:
    """A frame with its iteration and, if known, the limit; the one in focus with its operator type."""
    if frame.loop is None:
        return "main"
    name = f"{frame.loop.op_type} '{escape_unprintable(frame.name)}'" if in_focus else escape_unprintable(frame.name)
    if in_focus and counted:
        return name
    limit = trip_limit_text(frame.trip_count)
    return f"{name} {frame.iteration}" + ("" if limit == NO_LIMIT_TEXT else f"/{limit}")


def _spans_length(spans: Sequence[Span]) -> int:
    return cell_len(styled_line(*spans).text)
