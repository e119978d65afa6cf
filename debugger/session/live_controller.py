"""Running a session's engine up to a stop: at its destination, where a breakpoint hits, or where something ends it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from ...runtime.engine.engine import Engine
from ...runtime.errors import ExecutionError, InterruptError, LimitError, LoopdbgError, UsageError
from ...runtime.graph import Node
from ...runtime.model import Data, LoopTotals, Model
from ...runtime.plan.plan import Opcode
from ...runtime.text import escape_unprintable
from ..breakpoints.breakpoint import MAIN_GRAPH, Breakpoint, Trigger
from ..breakpoints.installer import BreakpointInstaller
from ..breakpoints.symbol_table import SymbolTable
from ..statistics.value_history import Evolution
from . import destinations
from .branches import Branch
from .controller import Controller
from .live_status import LiveStatus
from .positions import Position, nodes_until
from .session_frames import InspectionFrame, SessionFrame
from .stop import Reason, Stop, boundary_stop, interrupt_stop, loop_label, nan_origin_text, no_iteration_text
from .timeline import Timeline

#: Instructions that are nodes to step over: operations, loops and Ifs.
_STEPPABLE_OPCODES = (Opcode.NODE, Opcode.ENTER, Opcode.BRANCH)


def private_copy(value: Data) -> Data:
    """An input as a session keeps it: a copy, for a notebook may change its arrays while the session stands, except of
    an array that nobody can write."""
    array: object = value
    while isinstance(array, np.ndarray) and not array.flags.writeable:
        if array.base is None:
            return value
        array = array.base
    return np.array(value) if isinstance(value, memoryview) else copy.deepcopy(value)


class LiveController(Controller):
    """A model's engine, which runs from stop to stop."""

    def __init__(
        self,
        model: Model,
        inputs: Mapping[str, Data],
        max_iterations: int | None,
        attended: bool,
    ) -> None:
        given = {slot: private_copy(value) for slot, value in model.check(inputs).items()}
        super().__init__(model, SymbolTable(model.graph), inputs)
        self.max_iterations = max_iterations
        self.attended = attended
        self._slot_inputs = given
        self.engine = Engine(model.plan)
        self._timeline = Timeline(self.engine, given, self._update_progress)
        self._installer = BreakpointInstaller(self.engine, self._test_breakpoint)
        self._outputs: dict[str, Data] | None = None
        self._last_loop = -1
        #: The frames that were asked for in the epoch in which the session stands, by loop.
        self._frames: dict[int, SessionFrame] = {}
        self._frames_epoch = -1
        self._progress: dict[str, int] = {}

    # -- where it stands

    @property
    def running(self) -> bool:
        return bool(self.engine.running)

    @property
    def epoch(self) -> int:
        return self.engine.epoch

    @property
    def position(self) -> Position:
        """Where it stands in the execution; positions of one branch compare in the order of time."""
        return self._timeline.position

    @property
    def timeline(self) -> Timeline:
        return self._timeline

    @property
    def outputs(self) -> dict[str, Data] | None:
        return self._outputs

    @property
    def totals(self) -> list[LoopTotals]:
        return self.model._internals.totals(self.engine)

    @property
    def progress(self) -> Mapping[str, int]:
        return self._progress

    def _update_progress(self) -> None:
        self._progress = {total.path: total.iterations for total in self.totals}
        self._timeline.histories.tick()

    @property
    def latest_histories(self) -> Mapping[str, Evolution]:
        return self._timeline.histories.latest

    @property
    def live_status(self) -> Mapping[str, LiveStatus]:
        return self._timeline.live_status.latest

    def evolution(self, index: int, entry: int | None = None) -> Evolution:
        histories = self._timeline.histories
        known = histories.entries(index)
        if entry is not None and entry not in known:
            have = f"; there are {known[0]} to {known[-1]}" if known else ""
            raise UsageError(f"entry {entry} of loop '{self.symbols.loops[index].loop.name}' is not remembered{have}")
        return histories.entry_history(index, entry)

    @property
    def frame(self) -> SessionFrame:
        stack = self.engine.stack
        return self._frame(stack[-1] if stack else self._last_loop if self.done else MAIN_GRAPH)

    @property
    def frames(self) -> list[SessionFrame]:
        return [self._frame(index) for index in (MAIN_GRAPH, *self.engine.stack)]

    def _frame(self, index: int) -> SessionFrame:
        """The frame of a loop; one and the same as long as nothing moves, since it keeps what was computed of it."""
        if self._frames_epoch != self.epoch:
            self._frames_epoch = self.epoch
            self._frames.clear()
        if index not in self._frames:
            self._frames[index] = SessionFrame(self._timeline, index)
        return self._frames[index]

    def inspection_frame(self, frame: SessionFrame) -> InspectionFrame:
        return InspectionFrame(frame, self._timeline, self.session_lock)

    def is_at_boundary(self) -> bool:
        return self._timeline.is_at_boundary()

    def current_loop_index(self) -> int:
        stack = self.engine.stack
        last = stack[-1] if stack else self._timeline.last_exited_loop()
        return last if last >= 0 else 0 if self.symbols.loops else -1

    def next_node_to_run(self) -> Node:
        for instruction in self.engine.plan.code[self.engine.pc :]:
            if instruction.kind in _STEPPABLE_OPCODES:
                assert instruction.node is not None
                return instruction.node
        raise UsageError("no node comes after this")

    def _node_at(self, position: int) -> Node:
        node = self.engine.plan.code[position].node
        assert node is not None
        return node

    def _request_interrupt(self) -> None:
        self._timeline.interrupt()

    def _clear_interrupt(self) -> None:
        self.engine.clear_interrupt()

    @property
    def is_at_beginning(self) -> bool:
        return self.position == self._timeline.start_position

    def set_inputs(self, inputs: Mapping[str, Data]) -> None:
        """Make ready for a run with some other inputs.

        Raises:
            InputError: an input is unknown or does not fit.
        """
        given = {**self.model._internals.resolve_aliases(self.inputs), **self.model._internals.resolve_aliases(inputs)}
        self.model.check(given)
        changed = {name: private_copy(value) for name, value in given.items()}
        self._slot_inputs = self.model.check(changed)
        self.inputs = changed
        self.restart_inputs |= self.model._internals.resolve_aliases(inputs).keys()
        limit = self._timeline.limit_bytes
        self._timeline = Timeline(self.engine, self._slot_inputs, self._update_progress)
        self._timeline.limit_bytes = limit
        self._frames.clear()

    def run_to_first_loop(self) -> Stop:
        """Run from the first instruction to before iteration 0 of the first loop.

        Raises:
            ExecutionError: a node failed before.
        """
        timeline = self._timeline
        self.engine.start(self._slot_inputs)
        self.engine.set_limits(self.max_iterations)
        timeline.save_checkpoint()
        first = destinations.AnyBoundaryDestination() if self.symbols.loops else destinations.FirstNodeDestination()
        stop = self.run_to(first, quietly=True, raising=True)
        timeline.start_position = self.position
        self.prime_all()
        return stop

    def apply_edit(self, change: Callable[[], str]) -> Branch:
        """Make a change, which tells itself in words, and begin a branch with it. The turn is held.

        Raises:
            UsageError: nothing would use it.
        """
        if self.done:
            raise UsageError("the model ran to its end, so nothing would use it; go back first: back, or goto N")
        branch = self._timeline.edit(change)
        self._outputs = None
        self.stop = self.stop_here()
        return branch

    # -- running on

    def active_loops(self) -> list[int]:
        """The running loops without the one whose end this stands at."""
        stack = list(self.engine.stack)
        if self.is_at_boundary() and self.frame.stopped_by is not None:
            stack.pop()
        return stack

    def next_node_destination(self, into: bool = False) -> destinations.NextNodeDestination:
        """The next node of this body, or a boundary of a loop around it."""
        ahead = [destinations.LoopBoundaryDestination(k, self.engine.loop_state(k)[0] + 1) for k in self.active_loops()]
        return destinations.NextNodeDestination(len(self.engine.stack), ahead, into)

    def run_to(self, to: destinations.Destination, *, quietly: bool = False, raising: bool = False) -> Stop:
        """Run on until a destination is reached or a breakpoint hits. ``quietly``: whatever breakpoints there are;
        ``raising``: an error of the model is raised, not returned as a stop."""
        engine = self.engine
        self._outputs = None
        self._timeline.postpone_checkpoint()
        self._progress = {}
        self._timeline.histories.clear_latest()
        self._timeline.live_status.clear()
        hits: list[Breakpoint] = []
        try:
            while True:
                engine.clear_stops()
                self._refuse_infinite_loops(to)
                to.arm(engine)
                if not quietly and len(self.breakpoints):
                    self._installer.install(self.breakpoints)
                what, index = self._resume(raising)
                if what == "end":
                    # Values of the main graph are tested once they are there; the last ones are there now.
                    hits = [] if quietly else self.breakpoints.find_hits(self._frame(MAIN_GRAPH))
                    break
                if what in ("limit", "interrupt", "error"):
                    break
                hits = [] if quietly else self._current_hits()
                if hits or to.is_reached(engine, what, index):
                    break
                if what == "boundary":
                    self._timeline.on_boundary_passed()
        finally:
            if self._installer.is_installed:
                self._installer.uninstall()
            self._allow_infinite_loops()
        if hits:
            self.stop = self.hit_stop(hits)
            self._outputs = None
        elif what in ("node", "boundary"):
            self.stop = self._stop_for(what)
        self._timeline.update_tip()
        if self.is_at_boundary():
            self._timeline.save_checkpoint(cheap=True)
        return self.stop

    def _resume(self, raising: bool) -> tuple[str, int]:
        """Run the engine once; what ends a step wherever it leads becomes the stop here."""
        try:
            what, index = self._timeline.resume()
        except LimitError:
            # Not an error of the model: a command that is refused.
            self.stop = self.stop_here()
            self._timeline.update_tip()
            raise
        except LoopdbgError as error:
            self.stop = Stop(Reason.ERROR, str(error))
            if raising:
                raise
            return "error", -1
        if what in ("end", "limit", "interrupt"):
            self.stop = self._stop_for(what)
        return ("boundary" if what == "predicate" else what), index

    def _refuse_infinite_loops(self, to: destinations.Destination) -> None:
        """Let the engine refuse loops that nothing ends, where nobody could end them either. One that runs already may
        go on where the destination, or a breakpoint that waits for nothing else, stops it for certain."""
        if self.attended or self.max_iterations is not None:
            return
        bounded = not isinstance(to, destinations.ModelEndDestination | destinations.LoopEndDestination)
        running = [self.engine.plan.loops[index] for index in self.engine.stack]
        ended = any(plan.endless_from >= 0 and (bounded or self._certainly_stops(plan.index)) for plan in running)
        self.engine.set_limits(None, not ended)

    def _allow_infinite_loops(self) -> None:
        """Let what goes to a position run through any loop."""
        if not self.attended and self.max_iterations is None:
            self.engine.set_limits(None)

    def _certainly_stops(self, index: int) -> bool:
        """True where a breakpoint stops in a running loop whatever happens."""
        now = self.engine.loop_state(index)[0]
        for one in self.breakpoints:
            if not one.enabled or one.condition is not None or one.log is not None or one.ignore:
                continue
            if index in one.loops and one.kind is Trigger.BOUNDARY:
                return True
            here = one.kind is Trigger.ITERATION and one.loops == (index,) and len(one.iterations) == 1
            if here and one.iterations[0] > now:
                return True
        return False

    # -- breakpoints

    def install_breakpoint(self, breakpoint_: Breakpoint) -> None:
        self._installer.add_predicates(breakpoint_)

    def uninstall_breakpoint(self, breakpoint_: Breakpoint) -> None:
        self._installer.remove_predicates(breakpoint_)

    def is_tested_in_python(self, breakpoint_: Breakpoint) -> bool:
        return self._installer.is_tested_in_python(breakpoint_)

    def _test_breakpoint(self, breakpoint_: Breakpoint, index: int) -> bool:
        """Whether a breakpoint hits at the boundary that the engine is at, in passing."""
        return breakpoint_.trigger_matches(SessionFrame(self._timeline, index))

    def _current_hits(self, *, silently: bool = False) -> list[Breakpoint]:
        """The breakpoints that stop where the engine stands."""
        return self.breakpoints.find_hits(
            self.frame, None if self.is_at_boundary() else self._node_at(self.engine.pc), silently=silently
        )

    def _go_to_nan_origin(self, breakpoint_: Breakpoint) -> str:
        """From the boundary that showed a NaN to right after the node that made it; says which, "" if none did."""
        here = self.position
        iteration = here[-2]
        if iteration == 0:
            return ""
        known = breakpoint_.last_tests.get(self.frame.index)
        timeline = self._timeline
        self._move(lambda: timeline.go_to((*here[:-2], iteration - 1, here[-1])))
        maker = None
        for position in nodes_until(self.engine, here):
            frame = self.frame
            if maker is not None and breakpoint_.node_made_nan(frame, maker):
                break
            maker = self._node_at(position[-1])
        if maker is None:
            self._move(lambda: timeline.go_to(here))
            return ""
        if self.position == here and not breakpoint_.node_made_nan(self.frame, maker):
            return ""
        if known is not None:
            breakpoint_.suppress_repeated_hit(known)
        return nan_origin_text(maker, iteration - 1, self.frame.loop)

    # -- through time

    def prime_breakpoints(self, *breakpoints: Breakpoint) -> None:
        boundary = self.is_at_boundary()
        for breakpoint_ in breakpoints:
            if breakpoint_.is_in_main_graph:
                breakpoint_.prime_at(self._frame(MAIN_GRAPH))
            elif boundary:
                breakpoint_.prime_at(self.frame)

    def prime_all(self) -> None:
        self.prime_breakpoints(*self.breakpoints)

    def travel(self, move: Callable[[], None]) -> Stop:
        """Go through time; what is met on the way becomes the stop.

        Raises:
            ExecutionError, MemoryError: it failed on the way; the session is where it was before.
        """
        self._timeline.update_tip()
        before, branch = self.position, self._timeline.current_branch
        try:
            self._move(move)
        except InterruptError:
            self.stop = self._stop_for("interrupt")
        except (ExecutionError, MemoryError) as error:
            # What ran once fails for want of memory; where it was before there was enough.
            if self._return_to(before, branch):
                raise
            self.stop = Stop(Reason.ERROR, str(error))
        else:
            self.stop = self.stop_here()
        return self.stop

    def _return_to(self, position: Position, branch: Branch) -> bool:
        """Whether the session is at a position again after it failed to reach another one."""
        try:
            self._move(lambda: self._timeline.go_to(position, branch, anew=True))
        except (LoopdbgError, MemoryError):
            return False
        self.stop = self.stop_here()
        return True

    def _move(self, move: Callable[[], None]) -> None:
        before = self.epoch
        try:
            move()
        finally:
            if self.epoch != before:
                self._outputs = None
        self.prime_all()

    def go_to(self, position: Position) -> Stop:
        """Go to a position at which this line of time has stood."""
        with self.session_lock.hold():
            return self.travel(lambda: self._timeline.go_to(position))

    def go_to_iteration(self, iteration: int) -> Stop:
        """Go to the boundary of this loop before an iteration, back or ahead. The turn is held.

        Raises:
            UsageError: there is none.
        """
        around, index = self._timeline.current_entry()
        target = self._timeline.boundary_position(around, index, iteration)
        now, _, _, ended, _ = self.engine.loop_state(index)
        if iteration > now and ended is not None:
            raise UsageError(no_iteration_text(self.symbols.loops[index].loop, iteration, now))
        if iteration < now or target <= self.position:
            return self.travel(lambda: self._timeline.go_to(target))
        stop = self.run_to(destinations.LoopBoundaryDestination(index, iteration), quietly=True)
        if self.position != target and stop.reason in (Reason.LOOP_END, Reason.ENTRY):
            ran = self.engine.loop_state(index)[0]
            why = no_iteration_text(self.symbols.loops[index].loop, iteration, ran)
            raise UsageError(f"{why}, where the session stands now")
        return stop

    def reverse_continue(self) -> Stop:
        """Go to the last hit before here, or to where the session began."""
        timeline = self._timeline
        timeline.update_tip()
        try:
            arm = partial(self._installer.install, self.breakpoints)
            found = timeline.reverse_search(arm, self._installer.uninstall, self.prime_all, self._hits_with_details)
        finally:
            self._installer.uninstall()
        if found is None:
            self._move(lambda: timeline.go_to(timeline.start_position or (0,), anew=True))
            self.stop = Stop(Reason.START, f"no breakpoint would have stopped before; {self.stop_here().text}")
            return self.stop
        position, seen = found
        self._move(lambda: timeline.go_to(position, anew=True))
        for breakpoint_, change, failure in seen:
            breakpoint_.change_text, breakpoint_.failure = change, failure
        self.stop = self.hit_stop([breakpoint_ for breakpoint_, _, _ in seen])
        return self.stop

    def _hits_with_details(self) -> list[tuple[Breakpoint, str, str]] | None:
        """The breakpoints that hit here, with what changed or why they could not be tested; None: none does."""
        return [(one, one.change_text, one.failure) for one in self._current_hits(silently=True)] or None

    # -- in words

    def stop_here(self) -> Stop:
        """The stop for a position that was reached by travelling."""
        if self.engine.pc == len(self.engine.plan.code) - 1:
            return self._stop_for("end")
        return self._stop_for("boundary" if self.is_at_boundary() else "node")

    def _stop_for(self, what: str) -> Stop:
        stack = self.engine.stack
        if what == "end":
            self._outputs = self.model._internals.results(self.engine)
            self._last_loop = self._timeline.last_exited_loop()
            text = "the model ran to its end" if self.model.loops else "the model ran to its end; it has no loop"
            return Stop(Reason.DONE, text)
        if what == "node":
            node = self._node_at(self.engine.pc)
            text = f"before {node.op_type} '{escape_unprintable(node.name)}'"
            if stack:
                text += f" in iteration {self.frame.iteration} of {loop_label(self.frame.loop)}"
            return Stop(Reason.NODE, text if self.model.loops else f"{text}; the model has no loop")
        frame = self.frame
        if what == "limit":
            return Stop(Reason.LIMIT, f"{loop_label(frame.loop)} reached the limit of {frame.iteration} iterations")
        return interrupt_stop(frame) if what == "interrupt" else boundary_stop(frame)
