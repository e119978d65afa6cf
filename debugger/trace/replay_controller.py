"""Controller of replays: moves between recorded boundaries and stops at breakpoints.

Breakpoints are tested at each boundary on the way, as in a live run; boundaries are read from the trace, without
execution.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import NoReturn

from ...runtime.errors import Remedy, UsageError
from ...runtime.model import Data, LoopTotals
from ..breakpoints.breakpoint import MAIN_GRAPH, NODE_RESULT_TRIGGERS, Breakpoint, Trigger
from ..breakpoints.symbol_table import SymbolTable
from ..expression.expression import Expression
from ..session.controller import Controller
from ..session.stop import (
    Reason,
    Stop,
    boundary_stop,
    interrupt_stop,
    no_hit_stop,
    no_iteration_text,
    origin_stop,
    stop_in_frame,
)
from .graph_index import GraphIndex
from .queries import BoundaryFilter
from .recorded_frames import RecordedFrameReader, frame_at, main_frame
from .recorded_model import RECORDING_REFUSAL, RecordedModel
from .trace_store import BoundaryRef, TraceStore


class ReplayController(Controller):
    """A recording with a current boundary."""

    refusal_reason = RECORDING_REFUSAL
    remedy = Remedy.RUN_MODEL
    has_nodes = False
    has_branches = False

    def __init__(self, trace: TraceStore) -> None:
        self.trace = trace
        self._graph_index = GraphIndex(trace)
        #: The current boundary; None: the recording holds no boundary.
        self.boundary: BoundaryRef | None = None
        self._interrupted = False
        #: Loop and iteration of a running search.
        self._search_progress = (-1, 0)
        self._epoch = 0
        super().__init__(RecordedModel(trace), SymbolTable(trace.graph), self._graph_index.inputs)

    # -- position

    @property
    def running(self) -> bool:
        """True while another thread searches for the next stop."""
        return self.session_lock.is_held

    @property
    def epoch(self) -> int:
        """Counter that grows with each move."""
        return self._epoch

    @cached_property
    def _outputs(self) -> dict[str, Data] | None:
        return self.trace.outputs

    @property
    def outputs(self) -> dict[str, Data] | None:
        """The outputs of the recorded run at the end of the replay; None before."""
        return self._outputs if self.stop.done else None

    @property
    def frame(self) -> RecordedFrameReader:
        """The innermost running loop; at the end the loop that ended last."""
        return (
            self._main_frame()
            if self.boundary is None
            else frame_at(self._graph_index, self.boundary, model_ended=self.stop.done)
        )

    @property
    def frames(self) -> list[RecordedFrameReader]:
        """The main graph, then all running loops, outermost first."""
        if self.boundary is None or self.stop.done:
            return [self._main_frame()]
        frames = [self.frame]
        while (outer := frames[0].around) is not None:
            frames.insert(0, outer)
        return frames

    def _main_frame(self) -> RecordedFrameReader:
        return main_frame(self._graph_index, self.boundary, model_ended=self.stop.done)

    def is_at_boundary(self) -> bool:
        return not self.stop.done and self.frame.at_boundary

    def current_loop_index(self) -> int:
        index = self.frame.index
        return index if index >= 0 else 0 if self.symbols.loops else -1

    @property
    def position(self) -> tuple[int, ...]:
        return (0 if self.boundary is None else self.boundary.id,)

    @property
    def progress(self) -> dict[str, int]:
        # Do not read the trace, which is used by one thread at a time.
        index, iteration = self._search_progress
        return {symbol.path: iteration if symbol.index == index else 0 for symbol in self.symbols.loops}

    @property
    def totals(self) -> list[LoopTotals]:
        """Totals of each loop up to the current boundary."""
        if self.stop.done:
            return self.trace.totals
        counts = self.trace.loop_counts(0 if self.boundary is None else self.boundary.id)
        seconds = 0.0 if self.boundary is None else self.boundary.time
        totals = []
        for loop in self.trace.loops:
            iterations, entries, ended = counts.get(loop.index, (0, 0, None))
            loop_seconds = seconds if loop.parent is None and entries else 0.0
            totals.append(LoopTotals(loop.name, loop.path, iterations, entries, ended, {}, None, loop_seconds))
        return totals

    @property
    def timeline(self) -> NoReturn:
        """Not available.

        Raises:
            UsageError: always.
        """
        raise UsageError("a recording needs no checkpoints: it goes to any recorded boundary")

    # -- breakpoints

    def check_expression(self, expression: Expression, index: int) -> None:
        """Check that an expression can be tested in a loop's body (-1: in the main graph), and its values are recorded.

        Raises:
            UsageError: it cannot, or a value is not recorded.
        """
        super().check_expression(expression, index)
        graph_index = self._graph_index
        scope = graph_index.scope(index)
        for name in sorted(expression.names & scope.keys()):
            if index == MAIN_GRAPH and scope[name].name in graph_index.outputs:
                # Available at the end, where it is tested.
                continue
            if not graph_index.is_recorded(index, scope[name]):
                raise UsageError(
                    f"the recording holds no value '{name}' (in '{expression.text}')", Remedy.RECORD_NODES, name=name
                )
        if expression.uses_history and self.trace.every > 1:
            raise UsageError(
                f"'{expression.text}' looks at other iterations, and only every {self.trace.every}th was recorded; "
                f"watch compares with the recorded boundary before"
            )

    def run_to(self, target: BoundaryRef | None) -> Stop:
        """Go forward to a recorded boundary (None: the end), unless a breakpoint hits on the way."""
        current = 0 if self.boundary is None else self.boundary.id
        if self.go_to_hit(BoundaryFilter(after=current, before=None if target is None else target.id + 1)):
            return self.stop
        stop = self.go_to(target)
        if target is not None:
            return stop
        # Final values of the main graph are not available at any boundary.
        hits = self.breakpoints.find_hits(self._main_frame())
        if hits:
            self.stop = self.hit_stop(hits, stop)
        return self.stop

    def go_to_hit(self, filter_: BoundaryFilter, *, back: bool = False) -> bool:
        """Stop at the first matching boundary with a breakpoint hit; ``back``: at the last one, silently. False: there
        is none."""
        for ref, frame in self._hit_candidates(filter_, back):
            if self._interrupted:
                self._set_boundary(ref)
                self.stop = interrupt_stop(frame)
                return True
            hits = self.breakpoints.find_hits(frame, silently=back)
            if hits:
                self._set_boundary(ref)
                self.stop = self.current_stop()
                self.stop = self.hit_stop(hits)
                return True
        return False

    def _hit_candidates(self, filter_: BoundaryFilter, back: bool) -> Iterator[tuple[BoundaryRef, RecordedFrameReader]]:
        """The matching boundaries where a breakpoint may hit."""
        any_of: list[BoundaryFilter] = []
        for b in self.breakpoints:
            for loop in b.loops if b.enabled else ():
                if b.kind is Trigger.ITERATION:
                    any_of.append(BoundaryFilter(loop=loop, ended=False, iteration=b.iterations[-1]))
                else:
                    any_of.append(BoundaryFilter(loop=loop, ended=True if b.kind is Trigger.END else None))
        if not any_of:
            return
        for ref in self.trace.boundary_refs(filter_, any_of, newest_first=back):
            frame = frame_at(self._graph_index, ref)
            self._search_progress = frame.index, ref.iteration
            yield ref, frame

    def _go_to_origin(self, breakpoint_: Breakpoint) -> Stop | None:
        """The first node of the body that gave what a breakpoint waits for; known only if all body values were
        recorded."""
        frame = self.frame
        if not frame.iteration or not self.trace.nodes or self.trace.only is not None:
            return None
        producers = (entry.node for entry in frame.nodes if breakpoint_.is_triggered_by_node(frame, entry.node, {}))
        producer = next(producers, None)
        return (
            None
            if producer is None
            else origin_stop(producer, frame.iteration - 1, frame.loop, NODE_RESULT_TRIGGERS[breakpoint_.kind])
        )

    def _request_interrupt(self) -> None:
        self._interrupted = True

    def _clear_interrupt(self) -> None:
        self._interrupted = False
        self._search_progress = (-1, 0)

    # -- commands

    def restart(self, inputs: Mapping[str, Data] | None) -> Stop:
        if inputs:
            self.refuse("giving other inputs")
        return self.go_to_first()

    def step(self) -> Stop:
        ref = self.require_boundary("step")
        target = None if ref.ended else self.adjacent_boundary(ref, 1)
        return self.run_to(target or self.next_boundary(ref))

    def into(self) -> Stop:
        return self.run_to(self.next_boundary(self.require_boundary("go on")))

    def finish(self) -> Stop:
        ref = self.running_boundary(self.require_boundary("finish"))
        if ref is None:
            return self.run_to(self.next_boundary(self.require_boundary("finish")))
        end = self.trace.boundary_ref(BoundaryFilter(entry=ref.entry), newest=True)
        # A loop of an incomplete recording may have no end.
        return self.run_to(end if end is not None and end.ended else None)

    def run_to_iteration(self, iteration: int) -> Stop:
        ref = self.running_boundary(self.require_boundary("go on"))
        if ref is None:
            raise UsageError("no loop is running here; until needs one")
        if iteration <= ref.iteration:
            raise UsageError(
                f"iteration {iteration} is not ahead of {ref.iteration}; goto {iteration} goes back",
                iteration=iteration,
                expected=f"more than {ref.iteration}",
                got=str(iteration),
            )
        return self.run_to(
            self.trace.boundary_ref(BoundaryFilter(entry=ref.entry, above=ref.iteration, until=iteration))
        )

    def continue_(self) -> Stop:
        self.require_boundary("go on")
        return self.run_to(None)

    def back(self, count: int) -> tuple[Stop, int]:
        if self.stop.done:
            return self.go_to(self.last_boundary()), 1
        ref = self.require_boundary("go back")
        previous = self.adjacent_boundary(ref, -1) or self.trace.boundary_ref(
            BoundaryFilter(before=ref.id), newest=True
        )
        if previous is None:
            raise UsageError("this is the first boundary of the recording; there is nothing before")
        return self.go_to(previous), 1

    def go_to_iteration(self, iteration: int) -> Stop:
        ref = self.boundary or self.require_boundary("go there")
        target = self.trace.boundary_ref(BoundaryFilter(entry=ref.entry, iteration=iteration))
        if target is not None:
            return self.go_to(target)
        below = self.trace.boundary_ref(BoundaryFilter(entry=ref.entry, below=iteration), newest=True)
        above = self.trace.boundary_ref(BoundaryFilter(entry=ref.entry, above=iteration))
        loop = self.frame.loop
        assert loop is not None
        if below is not None and above is None and below.ended is not None:
            message = no_iteration_text(loop, iteration, below.iteration)
            if ref.id != below.id:
                # As a live session, which must run to the end to detect this.
                self.go_to(below)
                message += ", where the session is now"
            raise UsageError(message, loop=loop.name, iteration=iteration)
        nearest = " and ".join(str(r.iteration) for r in (below, above) if r is not None)
        raise UsageError(
            f"iteration {iteration} of loop '{loop.name}' is not recorded here; the nearest are {nearest}",
            loop=loop.name,
            iteration=iteration,
        )

    def reverse_continue(self) -> Stop:
        current = self.boundary
        if self.go_to_hit(BoundaryFilter(before=0 if current is None else current.id + self.stop.done), back=True):
            return self.stop
        stop = self.go_to_first()
        if current is not None:
            self.stop = stop = no_hit_stop(stop)
        return stop

    def require_boundary(self, action: str) -> BoundaryRef:
        if self.stop.done:
            raise UsageError("the recording is at its end; restart to see it again")
        if self.boundary is None:
            raise UsageError(f"the recording holds no boundary; there is nowhere to {action}", name=action)
        return self.boundary

    def running_boundary(self, ref: BoundaryRef) -> BoundaryRef | None:
        """The newest recorded boundary of the innermost loop that continues here; None: there is none."""
        if ref.ended is None:
            return ref
        outer = frame_at(self._graph_index, ref).around
        if outer is None or outer.entry_id is None:
            return None
        return self.trace.boundary_ref(BoundaryFilter(entry=outer.entry_id, before=ref.id), newest=True)

    def next_boundary(self, ref: BoundaryRef) -> BoundaryRef | None:
        return self.trace.boundary_ref(BoundaryFilter(after=ref.id))

    def last_boundary(self) -> BoundaryRef | None:
        return self.trace.boundary_ref(newest=True)

    def adjacent_boundary(self, ref: BoundaryRef, direction: int) -> BoundaryRef | None:
        if direction > 0:
            return self.trace.boundary_ref(BoundaryFilter(entry=ref.entry, above=ref.iteration))
        return self.trace.boundary_ref(BoundaryFilter(entry=ref.entry, below=ref.iteration), newest=True)

    @property
    def is_at_beginning(self) -> bool:
        return self.boundary is None or self.trace.boundary_ref(BoundaryFilter(before=self.boundary.id)) is None

    def _set_boundary(self, ref: BoundaryRef | None) -> None:
        self.boundary = ref
        self._epoch += 1

    def go_to_first(self) -> Stop:
        return self.go_to(self.trace.boundary_ref())

    def go_to(self, ref: BoundaryRef | None) -> Stop:
        """Go to a boundary, or to the end of the recording."""
        if ref is None:
            return self._go_to_end()
        for breakpoint_ in self.breakpoints:
            breakpoint_.already_tested = False
        self._set_boundary(ref)
        self.stop = self.current_stop()
        return self.stop

    def current_stop(self) -> Stop:
        return boundary_stop(self.frame)

    def _go_to_end(self) -> Stop:
        """Go past the last boundary: to the model's end, or the end of an incomplete recording."""
        self._set_boundary(self.last_boundary())
        trace = self.trace
        if trace.ended == "end":
            # The screen then shows the loop of the main graph that ended last.
            main = self.trace.boundary_ref(BoundaryFilter(outermost=True), newest=True)
            self.boundary = main or self.boundary
            self.stop = Stop(Reason.DONE, "the model ran to its end" + ("" if trace.loops else "; it has no loop"))
        elif trace.ended is not None or trace.error:
            reason = {"limit": Reason.LIMIT, "interrupt": Reason.INTERRUPT}.get(trace.ended or "", Reason.ERROR)
            self.stop = stop_in_frame(self.frame, reason, f"the recording ends here: {trace.error or trace.ended}")
        else:
            text = "the recording ends here: its program was ended, or still records"
            self.stop = stop_in_frame(self.frame, Reason.INTERRUPT, text)
        return self.stop
