"""How a replay goes from one recorded boundary to another, and what stops it on the way.

Breakpoints are tested at each boundary on the way, as those of a run are; since any boundary can be read at any time,
nothing has to be run for that.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import NoReturn

from ...runtime.errors import Remedy, UsageError
from ...runtime.model import Data, LoopTotals
from ..breakpoints.breakpoint import MAIN_GRAPH, Breakpoint, Trigger
from ..breakpoints.places import Places
from ..expression.language import Expression
from ..session.inside import Inside
from ..session.stop import Reason, Stop, boundary_stop, gave_nan, interrupted
from .frames import RecordedFrame, RecordedInside, frame_at
from .outline import Outline
from .queries import Which
from .recorded_model import ONLY_RECORDED, RecordedModel
from .trace_inside import Mark, TraceInside


class Replaying(Inside):
    """A recording that stands at one of its boundaries."""

    why_not = ONLY_RECORDED
    remedy = Remedy.RUN_MODEL
    has_nodes = False
    has_branches = False

    def __init__(self, trace: TraceInside) -> None:
        self.trace = trace
        self._outline = Outline(trace)
        #: Where it stands; None: the recording holds no boundary.
        self.mark: Mark | None = None
        self._interrupted = False
        #: While something is looked for: the loop and the iteration that are looked at.
        self._passing = (-1, 0)
        self._epoch = 0
        super().__init__(RecordedModel(trace), Places(trace.graph), self._outline.inputs)

    # -- where it stands

    @property
    def running(self) -> bool:
        """True while another thread looks for the next stop."""
        return self.turns.taken

    @property
    def epoch(self) -> int:
        """Grows whenever the replay moves."""
        return self._epoch

    @cached_property
    def _outputs(self) -> dict[str, Data] | None:
        return self.trace.outputs

    @property
    def outputs(self) -> dict[str, Data] | None:
        """The outputs of the recorded run, once the replay is at its end; None before."""
        return self._outputs if self.done else None

    @property
    def frame(self) -> RecordedFrame:
        """The innermost loop that ran here; at the end the loop that ended last."""
        return self._main() if self.mark is None else frame_at(self._outline, self.mark, over=self.done)

    @property
    def frames(self) -> list[RecordedFrame]:
        """All loops that ran here, outermost first, the main graph before them."""
        if self.mark is None or self.done:
            return [self._main()]
        found = [self.frame]
        while (around := found[0].around) is not None:
            found.insert(0, around)
        return found

    def _main(self) -> RecordedFrame:
        now = 0 if self.mark is None else self.mark.id
        return RecordedFrame(RecordedInside(self._outline, -1, now, over=self.done))

    def at_boundary(self) -> bool:
        return not self.done and self.frame.at_boundary

    def here(self) -> int:
        index = self.frame.index
        return index if index >= 0 else 0 if self.places.loops else -1

    @property
    def position(self) -> tuple[int, ...]:
        return (0 if self.mark is None else self.mark.id,)

    @property
    def progress(self) -> dict[str, int]:
        # Without the trace, which is used by one thread at a time.
        index, iteration = self._passing
        return {one.path: iteration if one.index == index else 0 for one in self.places.loops}

    @property
    def totals(self) -> list[LoopTotals]:
        """How often each loop had run here."""
        if self.done:
            return self.trace.totals
        counted = self.trace.counts(0 if self.mark is None else self.mark.id)
        seconds = 0.0 if self.mark is None else self.mark.time
        told = []
        for loop in self.trace.loops:
            iterations, entries, ended = counted.get(loop.index, (0, 0, None))
            spent = seconds if loop.parent is None and entries else 0.0
            told.append(LoopTotals(loop.name, loop.path, iterations, entries, ended, {}, None, spent))
        return told

    @property
    def timeline(self) -> NoReturn:
        """There is none.

        Raises:
            UsageError: always.
        """
        raise UsageError("a recording needs no checkpoints: it goes to any recorded boundary")

    # -- breakpoints

    def check_expression(self, expression: Expression, index: int) -> None:
        """See that an expression can be tested in a loop's body (-1: in the main graph), and all it needs is recorded.

        Raises:
            UsageError: it cannot, or is not.
        """
        super().check_expression(expression, index)
        outline = self._outline
        scope = outline.scope(index)
        for name in sorted(expression.names & scope.keys()):
            if index == MAIN_GRAPH and scope[name].name in outline.outputs:
                # Known at the end, where it is tested.
                continue
            if not outline.holds(index, scope[name]):
                raise UsageError(f"the recording holds no value '{name}' (in '{expression.text}')", Remedy.RECORD_NODES)
        if expression.uses_history and self.trace.every > 1:
            raise UsageError(
                f"'{expression.text}' looks at other iterations, and only every {self.trace.every}th was recorded; "
                f"watch compares with the recorded boundary before"
            )

    def advance(self, target: Mark | None) -> Stop:
        """On to a recorded boundary (None: the end), unless a breakpoint hits on the way."""
        here = 0 if self.mark is None else self.mark.id
        if self.look(Which(after=here, before=None if target is None else target.id + 1)):
            return self.stop
        ended = self.go(target)
        if target is not None:
            return ended
        # What the main graph has at its end was never at a boundary.
        hits = self.breakpoints.hits(self._main())
        if hits:
            self.stop = self.hit_stop(hits, ended.text)
        return self.stop

    def look(self, which: Which, *, back: bool = False) -> bool:
        """Stop at the first of some boundaries at which a breakpoint hits, or at the last, silently; False: at none of
        them."""
        for mark, frame in self._may_hit(which, back):
            if self._interrupted:
                self._place(mark)
                self.stop = interrupted(frame)
                return True
            hits = self.breakpoints.hits(frame, silently=back)
            if hits:
                self._place(mark)
                self.stop = self.where()
                self.stop = self.hit_stop(hits)
                return True
        return False

    def _may_hit(self, which: Which, back: bool) -> Iterator[tuple[Mark, RecordedFrame]]:
        """Of some boundaries those at which a breakpoint might hit."""
        any_of: list[Which] = []
        for one in self.breakpoints:
            for loop in one.loops if one.enabled else ():
                if one.kind is Trigger.ITERATION:
                    any_of.append(Which(loop=loop, ended=False, iteration=one.iterations[-1]))
                else:
                    any_of.append(Which(loop=loop, ended=True if one.kind is Trigger.END else None))
        if not any_of:
            return
        for mark in self.trace.marks(which, any_of, newest_first=back):
            frame = frame_at(self._outline, mark)
            self._passing = frame.index, mark.iteration
            yield mark, frame

    def _to_first_nan(self, breakpoint_: Breakpoint) -> str:
        """The first node of the body that gave a NaN; only where all body values were recorded it can be told."""
        frame = self.frame
        if not frame.iteration or not self.trace.nodes or self.trace.only is not None:
            return ""
        made = (entry.node for entry in frame.nodes if breakpoint_.made_nan(frame, entry.node))
        maker = next(made, None)
        return "" if maker is None else gave_nan(maker, frame.iteration - 1, frame.loop)

    def _ask_to_stop(self) -> None:
        self._interrupted = True

    def _forget_to_stop(self) -> None:
        self._interrupted = False
        self._passing = (-1, 0)

    def current(self, what: str) -> Mark:
        if self.done:
            raise UsageError("the recording is at its end; restart to see it again")
        if self.mark is None:
            raise UsageError(f"the recording holds no boundary; there is nowhere to {what}")
        return self.mark

    def running_mark(self, mark: Mark) -> Mark | None:
        """The newest recorded boundary of the innermost loop that goes on here; None: none does."""
        if mark.ended is None:
            return mark
        around = frame_at(self._outline, mark).around
        if around is None or around._inside.entry_id is None:
            return None
        return self.trace.mark(Which(entry=around._inside.entry_id, before=mark.id), newest=True)

    def after(self, mark: Mark) -> Mark | None:
        return self.trace.mark(Which(after=mark.id))

    def last(self) -> Mark | None:
        return self.trace.mark(newest=True)

    def in_entry(self, mark: Mark, way: int) -> Mark | None:
        if way > 0:
            return self.trace.mark(Which(entry=mark.entry, above=mark.iteration))
        return self.trace.mark(Which(entry=mark.entry, below=mark.iteration), newest=True)

    @property
    def at_beginning(self) -> bool:
        return self.mark is None or self.trace.mark(Which(before=self.mark.id)) is None

    def _place(self, mark: Mark | None) -> None:
        self.mark = mark
        self._epoch += 1

    def to_first(self) -> Stop:
        return self.go(self.trace.mark())

    def go(self, mark: Mark | None) -> Stop:
        """Stand at a boundary, or at the end of the recording."""
        if mark is None:
            return self._end()
        for breakpoint_ in self.breakpoints:
            breakpoint_.passed = False
        self._place(mark)
        self.stop = self.where()
        return self.stop

    def where(self) -> Stop:
        return boundary_stop(self.frame)

    def _end(self) -> Stop:
        """Behind the last boundary: the model's end, or where the recording was cut off."""
        self._place(self.last())
        trace = self.trace
        if trace.ended == "end":
            # What a screen shows then is the loop of the main graph that ended last.
            main = self.trace.mark(Which(outermost=True), newest=True)
            self.mark = main or self.mark
            self.stop = Stop(Reason.DONE, "the model ran to its end" + ("" if trace.loops else "; it has no loop"))
        elif trace.ended is not None or trace.error:
            reason = {"limit": Reason.LIMIT, "interrupt": Reason.INTERRUPT}.get(trace.ended or "", Reason.ERROR)
            self.stop = Stop(reason, f"the recording ends here: {trace.error or trace.ended}")
        else:
            self.stop = Stop(Reason.INTERRUPT, "the recording ends here: its program was ended, or still records")
        return self.stop
