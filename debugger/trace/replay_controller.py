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
from ..breakpoints.symbol_table import SymbolTable
from ..expression.language import Expression
from ..session.controller import Controller
from ..session.stop import Reason, Stop, boundary_stop, interrupt_stop, nan_origin_text
from .graph_index import GraphIndex
from .queries import BoundaryFilter
from .recorded_frames import RecordedFrame, RecordedFrameInternals, frame_at
from .recorded_model import RECORDING_REFUSAL, RecordedModel
from .trace_store import BoundaryRef, TraceStore


class ReplayController(Controller):
    """A recording that stands at one of its boundaries."""

    refusal_reason = RECORDING_REFUSAL
    remedy = Remedy.RUN_MODEL
    has_nodes = False
    has_branches = False

    def __init__(self, trace: TraceStore) -> None:
        self.trace = trace
        self._graph_index = GraphIndex(trace)
        #: Where it stands; None: the recording holds no boundary.
        self.boundary: BoundaryRef | None = None
        self._interrupted = False
        #: While something is looked for: the loop and the iteration that are looked at.
        self._search_progress = (-1, 0)
        self._epoch = 0
        super().__init__(RecordedModel(trace), SymbolTable(trace.graph), self._graph_index.inputs)

    # -- where it stands

    @property
    def running(self) -> bool:
        """True while another thread looks for the next stop."""
        return self.session_lock.is_held

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
        return (
            self._main_frame() if self.boundary is None else frame_at(self._graph_index, self.boundary, over=self.done)
        )

    @property
    def frames(self) -> list[RecordedFrame]:
        """All loops that ran here, outermost first, the main graph before them."""
        if self.boundary is None or self.done:
            return [self._main_frame()]
        found = [self.frame]
        while (around := found[0].around) is not None:
            found.insert(0, around)
        return found

    def _main_frame(self) -> RecordedFrame:
        now = 0 if self.boundary is None else self.boundary.id
        return RecordedFrame(RecordedFrameInternals(self._graph_index, -1, now, over=self.done))

    def is_at_boundary(self) -> bool:
        return not self.done and self.frame.at_boundary

    def current_loop_index(self) -> int:
        index = self.frame.index
        return index if index >= 0 else 0 if self.symbols.loops else -1

    @property
    def position(self) -> tuple[int, ...]:
        return (0 if self.boundary is None else self.boundary.id,)

    @property
    def progress(self) -> dict[str, int]:
        # Without the trace, which is used by one thread at a time.
        index, iteration = self._search_progress
        return {one.path: iteration if one.index == index else 0 for one in self.symbols.loops}

    @property
    def totals(self) -> list[LoopTotals]:
        """How often each loop had run here."""
        if self.done:
            return self.trace.totals
        counted = self.trace.loop_counts(0 if self.boundary is None else self.boundary.id)
        seconds = 0.0 if self.boundary is None else self.boundary.time
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
        outline = self._graph_index
        scope = outline.scope(index)
        for name in sorted(expression.names & scope.keys()):
            if index == MAIN_GRAPH and scope[name].name in outline.outputs:
                # Known at the end, where it is tested.
                continue
            if not outline.is_recorded(index, scope[name]):
                raise UsageError(f"the recording holds no value '{name}' (in '{expression.text}')", Remedy.RECORD_NODES)
        if expression.uses_history and self.trace.every > 1:
            raise UsageError(
                f"'{expression.text}' looks at other iterations, and only every {self.trace.every}th was recorded; "
                f"watch compares with the recorded boundary before"
            )

    def run_to(self, target: BoundaryRef | None) -> Stop:
        """On to a recorded boundary (None: the end), unless a breakpoint hits on the way."""
        here = 0 if self.boundary is None else self.boundary.id
        if self.search_hit(BoundaryFilter(after=here, before=None if target is None else target.id + 1)):
            return self.stop
        ended = self.go_to(target)
        if target is not None:
            return ended
        # What the main graph has at its end was never at a boundary.
        hits = self.breakpoints.find_hits(self._main_frame())
        if hits:
            self.stop = self.hit_stop(hits, ended.text)
        return self.stop

    def search_hit(self, which: BoundaryFilter, *, back: bool = False) -> bool:
        """Stop at the first of some boundaries at which a breakpoint hits, or at the last, silently; False: at none of
        them."""
        for mark, frame in self._hit_candidates(which, back):
            if self._interrupted:
                self._set_boundary(mark)
                self.stop = interrupt_stop(frame)
                return True
            hits = self.breakpoints.find_hits(frame, silently=back)
            if hits:
                self._set_boundary(mark)
                self.stop = self.stop_here()
                self.stop = self.hit_stop(hits)
                return True
        return False

    def _hit_candidates(self, which: BoundaryFilter, back: bool) -> Iterator[tuple[BoundaryRef, RecordedFrame]]:
        """Of some boundaries those at which a breakpoint might hit."""
        any_of: list[BoundaryFilter] = []
        for one in self.breakpoints:
            for loop in one.loops if one.enabled else ():
                if one.kind is Trigger.ITERATION:
                    any_of.append(BoundaryFilter(loop=loop, ended=False, iteration=one.iterations[-1]))
                else:
                    any_of.append(BoundaryFilter(loop=loop, ended=True if one.kind is Trigger.END else None))
        if not any_of:
            return
        for mark in self.trace.boundary_refs(which, any_of, newest_first=back):
            frame = frame_at(self._graph_index, mark)
            self._search_progress = frame.index, mark.iteration
            yield mark, frame

    def _go_to_nan_origin(self, breakpoint_: Breakpoint) -> str:
        """The first node of the body that gave a NaN; only where all body values were recorded it can be told."""
        frame = self.frame
        if not frame.iteration or not self.trace.nodes or self.trace.only is not None:
            return ""
        made = (entry.node for entry in frame.nodes if breakpoint_.node_made_nan(frame, entry.node))
        maker = next(made, None)
        return "" if maker is None else nan_origin_text(maker, frame.iteration - 1, frame.loop)

    def _request_interrupt(self) -> None:
        self._interrupted = True

    def _clear_interrupt(self) -> None:
        self._interrupted = False
        self._search_progress = (-1, 0)

    def require_boundary(self, what: str) -> BoundaryRef:
        if self.done:
            raise UsageError("the recording is at its end; restart to see it again")
        if self.boundary is None:
            raise UsageError(f"the recording holds no boundary; there is nowhere to {what}")
        return self.boundary

    def running_boundary(self, mark: BoundaryRef) -> BoundaryRef | None:
        """The newest recorded boundary of the innermost loop that goes on here; None: none does."""
        if mark.ended is None:
            return mark
        around = frame_at(self._graph_index, mark).around
        if around is None or around._internals.entry_id is None:
            return None
        return self.trace.boundary_ref(BoundaryFilter(entry=around._internals.entry_id, before=mark.id), newest=True)

    def next_boundary(self, mark: BoundaryRef) -> BoundaryRef | None:
        return self.trace.boundary_ref(BoundaryFilter(after=mark.id))

    def last_boundary(self) -> BoundaryRef | None:
        return self.trace.boundary_ref(newest=True)

    def adjacent_boundary(self, mark: BoundaryRef, way: int) -> BoundaryRef | None:
        if way > 0:
            return self.trace.boundary_ref(BoundaryFilter(entry=mark.entry, above=mark.iteration))
        return self.trace.boundary_ref(BoundaryFilter(entry=mark.entry, below=mark.iteration), newest=True)

    @property
    def is_at_beginning(self) -> bool:
        return self.boundary is None or self.trace.boundary_ref(BoundaryFilter(before=self.boundary.id)) is None

    def _set_boundary(self, mark: BoundaryRef | None) -> None:
        self.boundary = mark
        self._epoch += 1

    def go_to_first(self) -> Stop:
        return self.go_to(self.trace.boundary_ref())

    def go_to(self, mark: BoundaryRef | None) -> Stop:
        """Stand at a boundary, or at the end of the recording."""
        if mark is None:
            return self._go_to_end()
        for breakpoint_ in self.breakpoints:
            breakpoint_.already_tested = False
        self._set_boundary(mark)
        self.stop = self.stop_here()
        return self.stop

    def stop_here(self) -> Stop:
        return boundary_stop(self.frame)

    def _go_to_end(self) -> Stop:
        """Behind the last boundary: the model's end, or where the recording was cut off."""
        self._set_boundary(self.last_boundary())
        trace = self.trace
        if trace.ended == "end":
            # What a screen shows then is the loop of the main graph that ended last.
            main = self.trace.boundary_ref(BoundaryFilter(outermost=True), newest=True)
            self.boundary = main or self.boundary
            self.stop = Stop(Reason.DONE, "the model ran to its end" + ("" if trace.loops else "; it has no loop"))
        elif trace.ended is not None or trace.error:
            reason = {"limit": Reason.LIMIT, "interrupt": Reason.INTERRUPT}.get(trace.ended or "", Reason.ERROR)
            self.stop = Stop(reason, f"the recording ends here: {trace.error or trace.ended}")
        else:
            self.stop = Stop(Reason.INTERRUPT, "the recording ends here: its program was ended, or still records")
        return self.stop
