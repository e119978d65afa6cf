"""The first line: which model and loop, which iteration of how many, and what the session does right now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from textual import events
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip

from ..render.formatting import NO_LIMIT_TEXT, escape_unprintable, limit_text, rate_text
from ..render.stop_view import FrameView, ScreenState
from ..render.styled_text import Role, Span, StyledLine, shorten_name, styled_line, truncate_spans
from ..session_worker import RunProgress
from .strips import LineWidget

#: Between the names of frames.
_SEPARATOR = " ▸ "


@dataclass(frozen=True)
class _Breadcrumb:
    """A part of the place: a frame of a depth, or what is none; ``here``: it is in focus."""

    text: str
    depth: int | None = None
    in_focus: bool = False


_OMITTED = _Breadcrumb("…")


class Header(LineWidget):
    """One line; its left part gives way where there is no room."""

    class FrameSelected(Message):
        """The name of a frame was clicked; ``depth``: 0 the main graph."""

        def __init__(self, depth: int) -> None:
            super().__init__()
            self.depth = depth

    screen_state: reactive[ScreenState | None] = reactive(None)
    #: What runs, once it has run for a short time.
    progress: reactive[RunProgress | None] = reactive(None)

    def __init__(self, model: str, id: str) -> None:
        super().__init__(id)
        self._model = escape_unprintable(model)
        #: From which cell to which the name of a frame stands, and its depth.
        self._frame_cells: list[tuple[int, int, int]] = []

    @property
    def text(self) -> str:
        """What the line says."""
        return self._header_line(self.size.width).text

    def render_line(self, y: int) -> Strip:
        """See :class:`~textual.widget.Widget`."""
        width = self.size.width
        return self.style_resolver.to_strip(self._header_line(width) if y == 0 else StyledLine(), width)

    def _header_line(self, width: int) -> StyledLine:
        state = self._state_spans()
        count = self._iteration_spans()
        marks, signs = self._mark_spans(), self._mark_spans(short=True)
        right: list[Span] = []
        for wanted, least in (
            ((marks, state, count), 30),
            ((signs, state, count), 18),
            ((state, count), 18),
            ((state,), 0),
        ):
            right = [span for spans in wanted for span in spans]
            if width - _spans_length(right) >= least:
                break
        room = width - _spans_length(right) - 2
        left = self._breadcrumb_spans(room, all(span in right for span in count))
        filler = " " * max(0, width - _spans_length(left) - _spans_length(right))
        return StyledLine(truncate_spans([*left, (filler, Role.PLAIN), *right], width))

    def _breadcrumb_spans(self, room: int, counted: bool) -> list[Span]:
        """``loopdbg  model ▸ main ▸ outer 3/10 ▸ Loop 'inner'``, or what of it fits; ``counted``: the iteration of the
        frame in focus stands elsewhere in the line."""
        steps = [
            _Breadcrumb(
                self._model if self.screen_state is None else escape_unprintable(self.screen_state.view.snapshot.model)
            )
        ]
        steps += self._frame_crumbs(counted)
        here = next((k for k, one in enumerate(steps) if one.in_focus), len(steps) - 1)
        # From all of them to the frame in focus alone, the model's name before it as long as there is room.
        shorter = [steps, steps[: here + 1]]
        shorter += [[steps[0], _OMITTED, *steps[max(1, here - 1) : here + 1]], [steps[0], _OMITTED, steps[here]]]
        fitting = [one for one in shorter if len(one) <= len(steps)] + [[steps[0], steps[here]]] * (here > 0)
        wide = [one for one in fitting if 1 + cell_len(_SEPARATOR.join(step.text for step in one)) <= room]
        return self._crumb_spans(wide[0] if wide else [steps[here]], room)

    def _crumb_spans(self, steps: Sequence[_Breadcrumb], room: int) -> list[Span]:
        """Steps in roles, and where each can be clicked."""
        title = (
            " loopdbg  " if len(" loopdbg  ") + cell_len(_SEPARATOR.join(one.text for one in steps)) <= room else " "
        )
        spans: list[Span] = [(title, Role.DIM)]
        self._frame_cells = []
        for k, one in enumerate(steps):
            begin = _spans_length(spans)
            # Where the frame in focus has no room its end is cut.
            text = shorten_name(one.text, room - begin) if len(steps) == 1 else one.text
            spans.append((text, Role.NAME if one.in_focus or len(steps) == 1 else Role.PLAIN))
            if one.depth is not None:
                self._frame_cells.append((begin, begin + cell_len(text), one.depth))
            if k < len(steps) - 1:
                spans.append((_SEPARATOR, Role.PLAIN))
        return list(truncate_spans(spans, max(0, room)))

    def _frame_crumbs(self, counted: bool) -> list[_Breadcrumb]:
        """The running frames, and one that has ended where that is in focus."""
        if self.screen_state is None:
            return []
        views, depth = self.screen_state.view.frames, self.screen_state.depth
        steps = [_Breadcrumb(_frame_text(view, k == depth, counted), k, k == depth) for k, view in enumerate(views)]
        return (
            steps
            if depth is not None
            else [*steps, _Breadcrumb(_frame_text(self.screen_state.frame, True, counted), None, True)]
        )

    def on_click(self, event: events.Click) -> None:
        """To the frame that was clicked."""
        found = next((depth for begin, end, depth in self._frame_cells if begin <= event.x < end), None)
        if found is not None:
            self.post_message(self.FrameSelected(found))

    def _iteration_spans(self) -> list[Span]:
        """Where the loop in focus stands: said here alone, and drawn by the timeline."""
        if self.screen_state is None or self.screen_state.frame.frame.loop is None:
            return []
        frame = self.screen_state.frame.frame
        done, total = frame.iteration, frame.trip_count
        if self.progress is not None and self.screen_state.depth == 1:
            # A loop of the main graph runs once: all its iterations are those of this entry.
            done = max(done, self.progress.iterations.get(frame.path, done))
        limit = limit_text(total)
        ended = frame.stopped_by is not None and self.progress is None
        return [(f"  {'ended after' if ended else 'iteration'} {done} / {limit} ", Role.VALUE)]

    def _mark_spans(self, short: bool = False) -> list[Span]:
        """What else must not be forgotten: made-up inputs, a recording, another branch than the first. ``short``: a
        word each, where there is little room."""
        if self.screen_state is None:
            return []
        told: list[Span] = []
        seeds = self.screen_state.seeds
        if seeds:
            numbers = "" if short else f" inputs, seed{'s' * (len(seeds) > 1)} {', '.join(map(str, seeds))}"
            told.append((f"RANDOM{numbers}   ", Role.MARK))
        if self.screen_state.view.is_recording:
            told.append(("RECORDING   ", Role.ERROR))
        branch = next((one.number for one in self.screen_state.view.snapshot.branches if one.current), 1)
        if branch != 1:
            told.append((f"branch {branch}   ", Role.MARK))
        return told

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
        return [(f"■ paused: {self.screen_state.view.snapshot.stop.reason} ", Role.MARK)]


def _frame_text(view: FrameView, here: bool, counted: bool) -> str:
    """A frame with its iteration, of how many where that is known; the one in focus with its kind."""
    frame = view.frame
    if frame.loop is None:
        return "main"
    name = f"{frame.loop.op_type} '{escape_unprintable(frame.name)}'" if here else escape_unprintable(frame.name)
    if here and counted:
        return name
    limit = limit_text(frame.trip_count)
    return f"{name} {frame.iteration}" + ("" if limit == NO_LIMIT_TEXT else f"/{limit}")


def _spans_length(spans: Sequence[Span]) -> int:
    return cell_len(styled_line(*spans).text)
