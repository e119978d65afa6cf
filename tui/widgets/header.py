"""The first line: which model and loop, which iteration of how many, and what the session does right now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from textual import events
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip

from ..driver import Progress
from ..screen.lines import Line, Role, Span, fit_spans, line, shortened
from ..screen.text import NO_LIMIT, limit_text, printable, rate_text
from ..screen.view import FrameView, Shown
from .strips import Lined

#: Between the names of frames.
_SIGN = " ▸ "


@dataclass(frozen=True)
class _Step:
    """A part of the place: a frame of a depth, or what is none; ``here``: it is in focus."""

    text: str
    depth: int | None = None
    here: bool = False


_LEFT_OUT = _Step("…")


class Header(Lined):
    """One line; its left part gives way where there is no room."""

    class Chosen(Message):
        """The name of a frame was clicked; ``depth``: 0 the main graph."""

        def __init__(self, depth: int) -> None:
            super().__init__()
            self.depth = depth

    shown: reactive[Shown | None] = reactive(None)
    #: What runs, once it has run for a short time.
    progress: reactive[Progress | None] = reactive(None)

    def __init__(self, model: str, id: str) -> None:
        super().__init__(id)
        self._model = printable(model)
        #: From which cell to which the name of a frame stands, and its depth.
        self._places: list[tuple[int, int, int]] = []

    @property
    def text(self) -> str:
        """What the line says."""
        return self._line(self.size.width).text

    def render_line(self, y: int) -> Strip:
        """See :class:`~textual.widget.Widget`."""
        width = self.size.width
        return self.looks.strip(self._line(width) if y == 0 else Line(), width)

    def _line(self, width: int) -> Line:
        state = self._state()
        count = self._iteration()
        marks, signs = self._marks(), self._marks(short=True)
        right: list[Span] = []
        for wanted, least in (
            ((marks, state, count), 30),
            ((signs, state, count), 18),
            ((state, count), 18),
            ((state,), 0),
        ):
            right = [span for spans in wanted for span in spans]
            if width - _length(right) >= least:
                break
        room = width - _length(right) - 2
        left = self._place(room, all(span in right for span in count))
        filler = " " * max(0, width - _length(left) - _length(right))
        return Line(fit_spans([*left, (filler, Role.PLAIN), *right], width))

    def _place(self, room: int, counted: bool) -> list[Span]:
        """``loopdbg  model ▸ main ▸ outer 3/10 ▸ Loop 'inner'``, or what of it fits; ``counted``: the iteration of the
        frame in focus stands elsewhere in the line."""
        steps = [_Step(self._model if self.shown is None else printable(self.shown.view.snapshot.model))]
        steps += self._frames(counted)
        here = next((k for k, one in enumerate(steps) if one.here), len(steps) - 1)
        # From all of them to the frame in focus alone, the model's name before it as long as there is room.
        shorter = [steps, steps[: here + 1]]
        shorter += [[steps[0], _LEFT_OUT, *steps[max(1, here - 1) : here + 1]], [steps[0], _LEFT_OUT, steps[here]]]
        fitting = [one for one in shorter if len(one) <= len(steps)] + [[steps[0], steps[here]]] * (here > 0)
        wide = [one for one in fitting if 1 + cell_len(_SIGN.join(step.text for step in one)) <= room]
        return self._spans(wide[0] if wide else [steps[here]], room)

    def _spans(self, steps: Sequence[_Step], room: int) -> list[Span]:
        """Steps in roles, and where each can be clicked."""
        title = " loopdbg  " if len(" loopdbg  ") + cell_len(_SIGN.join(one.text for one in steps)) <= room else " "
        spans: list[Span] = [(title, Role.DIM)]
        self._places = []
        for k, one in enumerate(steps):
            begin = _length(spans)
            # Where the frame in focus has no room its end is cut.
            text = shortened(one.text, room - begin) if len(steps) == 1 else one.text
            spans.append((text, Role.NAME if one.here or len(steps) == 1 else Role.PLAIN))
            if one.depth is not None:
                self._places.append((begin, begin + cell_len(text), one.depth))
            if k < len(steps) - 1:
                spans.append((_SIGN, Role.PLAIN))
        return list(fit_spans(spans, max(0, room)))

    def _frames(self, counted: bool) -> list[_Step]:
        """The running frames, and one that has ended where that is in focus."""
        if self.shown is None:
            return []
        views, depth = self.shown.view.frames, self.shown.depth
        steps = [_Step(_called(view, k == depth, counted), k, k == depth) for k, view in enumerate(views)]
        return steps if depth is not None else [*steps, _Step(_called(self.shown.frame, True, counted), None, True)]

    def on_click(self, event: events.Click) -> None:
        """To the frame that was clicked."""
        found = next((depth for begin, end, depth in self._places if begin <= event.x < end), None)
        if found is not None:
            self.post_message(self.Chosen(found))

    def _iteration(self) -> list[Span]:
        """Where the loop in focus stands: said here alone, and drawn by the timeline."""
        if self.shown is None or self.shown.frame.frame.loop is None:
            return []
        frame = self.shown.frame.frame
        done, total = frame.iteration, frame.trip_count
        if self.progress is not None and self.shown.depth == 1:
            # A loop of the main graph runs once: all its iterations are those of this entry.
            done = max(done, self.progress.iterations.get(frame.path, done))
        limit = limit_text(total)
        ended = frame.stopped_by is not None and self.progress is None
        return [(f"  {'ended after' if ended else 'iteration'} {done} / {limit} ", Role.VALUE)]

    def _marks(self, short: bool = False) -> list[Span]:
        """What else must not be forgotten: made-up inputs, a recording, another branch than the first. ``short``: a
        word each, where there is little room."""
        if self.shown is None:
            return []
        told: list[Span] = []
        seeds = self.shown.seeds
        if seeds:
            numbers = "" if short else f" inputs, seed{'s' * (len(seeds) > 1)} {', '.join(map(str, seeds))}"
            told.append((f"RANDOM{numbers}   ", Role.MARK))
        if self.shown.view.recorded:
            told.append(("RECORDING   ", Role.ERROR))
        branch = next((one.number for one in self.shown.view.snapshot.branches if one.current), 1)
        if branch != 1:
            told.append((f"branch {branch}   ", Role.MARK))
        return told

    def _state(self) -> list[Span]:
        if self.progress is not None:
            rate = f" {rate_text(self.progress.rate)}" if self.progress.rate else ""
            return [(f"▶ running {self.progress.seconds:.1f} s{rate} ", Role.MARK)]
        if self.shown is None:
            return [("▶ starting ", Role.MARK)]
        if self.shown.done:
            return [("■ ended ", Role.MARK)]
        if self.shown.failed:
            return [("✗ error ", Role.ERROR)]
        return [(f"■ paused: {self.shown.view.snapshot.stop.reason} ", Role.MARK)]


def _called(view: FrameView, here: bool, counted: bool) -> str:
    """A frame with its iteration, of how many where that is known; the one in focus with its kind."""
    frame = view.frame
    if frame.loop is None:
        return "main"
    name = f"{frame.loop.op_type} '{printable(frame.name)}'" if here else printable(frame.name)
    if here and counted:
        return name
    limit = limit_text(frame.trip_count)
    return f"{name} {frame.iteration}" + ("" if limit == NO_LIMIT else f"/{limit}")


def _length(spans: Sequence[Span]) -> int:
    return cell_len(line(*spans).text)
