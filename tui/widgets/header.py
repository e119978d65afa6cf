"""The first line: which model and loop, which iteration of how many, and what the session does right now."""

from __future__ import annotations

from rich.cells import cell_len
from textual.reactive import reactive
from textual.strip import Strip

from ..driver import Progress
from ..screen.lines import Line, Role, Span, fit_spans, line
from ..screen.text import limit_text, printable, rate_text, shortened
from ..screen.view import Shown
from .strips import Lined


class Header(Lined):
    """One line; its left part gives way where there is no room."""

    shown: reactive[Shown | None] = reactive(None)
    #: What runs, once it has run for a short time.
    progress: reactive[Progress | None] = reactive(None)

    def __init__(self, model: str, id: str) -> None:
        super().__init__(id)
        self._model = printable(model)

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
        left = self._place(room)
        filler = " " * max(0, width - _length(left) - _length(right))
        return Line(fit_spans([*left, (filler, Role.PLAIN), *right], width))

    def _place(self, room: int) -> list[Span]:
        """``loopdbg  model ▸ main ▸ Loop 'a' 3 ▸ Loop 'b'``, or what of it fits."""
        steps = [self._model if self.shown is None else printable(self.shown.view.snapshot.model)]
        if self.shown is not None:
            frames = [v.frame for v in self.shown.view.frames]
            depth = self.shown.depth
            if depth is None:
                frames.append(self.shown.frame.frame)
                depth = len(frames) - 1
            for k, frame in enumerate(frames[: depth + 1]):
                at = f" #{frame.iteration}" if frame.loop and k < depth else ""
                steps.append(f"{frame.loop.op_type} '{printable(frame.name)}'{at}" if frame.loop else "main")
        shorter = [steps, [steps[0], "…", *steps[-2:]], [steps[0], "…", steps[-1]], [steps[0], steps[-1]]]
        fitting = [" ▸ ".join(s) for s in shorter if len(s) <= len(steps)]
        full = next((text for text in fitting if 1 + cell_len(text) <= room), steps[-1])
        title = " loopdbg  " if cell_len(full) + len(" loopdbg  ") <= room else " "
        before, sign, last = full.rpartition(" ▸ ")
        spans: list[Span] = [(title, Role.DIM), (before + sign, Role.PLAIN), (shortened(last, room - 1), Role.NAME)]
        return list(fit_spans(spans, max(0, room)))

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


def _length(spans: list[Span]) -> int:
    return cell_len(line(*spans).text)
