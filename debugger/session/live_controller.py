"""Runs a session's engine up to a stop: its destination, a breakpoint hit, a limit, an interrupt or an error."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...runtime.engine.engine import Engine
from ...runtime.errors import ExecutionError, InterruptError, LimitError, LoopdbgError, UsageError
from ...runtime.graph import Node
from ...runtime.input_validation import resolve_aliases
from ...runtime.model import Data, LoopTotals, Model
from ...runtime.plan.plan import Opcode
from ...runtime.run_result import run_totals
from ...runtime.text import escape_unprintable
from ..breakpoints.breakpoint import MAIN_GRAPH, NODE_RESULT_TRIGGERS, Breakpoint, Trigger
from ..breakpoints.installer import BreakpointInstaller
from ..breakpoints.symbol_table import SymbolTable
from ..statistics.value_history import Evolution
from .boundary import Boundary
from .controller import Controller
from .live_status import LiveStatus
from .positions import Position, step_nodes_until
from .session_frames import LiveFrameReader
from .stop import (
    Reason,
    Stop,
    boundary_stop,
    error_stop,
    interrupt_stop,
    loop_label,
    no_hit_stop,
    no_iteration_text,
    origin_stop,
    stop_in_frame,
)
from .timeline import Branch, Timeline

if TYPE_CHECKING:
    from .editor import StateEditor
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

#: Instructions that are nodes to step over: operations, loops and Ifs.
_STEPPABLE_OPCODES = (Opcode.NODE, Opcode.ENTER, Opcode.BRANCH)


def private_copy(value: Data) -> Data:
    """A private copy of an input, since a notebook may change its arrays between stops; read-only arrays are not
    copied."""
    array: object = value
    while isinstance(array, np.ndarray) and not array.flags.writeable:
        if array.base is None:
            return value
        array = array.base
    return np.array(value) if isinstance(value, memoryview) else copy.deepcopy(value)


class LiveController(Controller):
    """Controller of a live run: it drives a model's engine from stop to stop."""

    def __init__(
        self,
        model: Model,
        inputs: Mapping[str, Data],
        max_iterations: int | None,
        attended: bool,
    ) -> None:
        slot_inputs = {slot: private_copy(value) for slot, value in model.check(inputs).items()}
        super().__init__(model, SymbolTable(model.graph), inputs)
        self.max_iterations = max_iterations
        self.attended = attended
        self._slot_inputs = slot_inputs
        self.engine = Engine(model.plan)
        self._timeline = Timeline(self.engine, slot_inputs, self._update_progress)
        self._installer = BreakpointInstaller(self.engine, self._test_breakpoint)
        self._outputs: dict[str, Data] | None = None
        self._last_loop = -1
        #: Cache of the frames of the current epoch, by loop.
        self._frames: dict[int, LiveFrameReader] = {}
        self._frames_epoch = -1
        self._progress: dict[str, int] = {}

    # -- position

    @property
    def running(self) -> bool:
        return bool(self.engine.running)

    @property
    def epoch(self) -> int:
        return self.engine.epoch

    @property
    def position(self) -> Position:
        """The position in the execution; positions of one branch are ordered by time."""
        position: Position = self.engine.position
        return position

    @property
    def timeline(self) -> Timeline:
        return self._timeline

    @property
    def outputs(self) -> dict[str, Data] | None:
        return self._outputs

    @property
    def totals(self) -> list[LoopTotals]:
        return run_totals(self.engine)

    @property
    def progress(self) -> Mapping[str, int]:
        return self._progress

    def _update_progress(self) -> None:
        loops = self.engine.loops
        self._progress = {plan.path: loops.totals(plan.index)[0] for plan in self.engine.plan.loops}
        self._timeline.histories.sample_if_requested()

    @property
    def latest_histories(self) -> Mapping[str, Evolution]:
        return self._timeline.histories.latest

    @property
    def live_status(self) -> Mapping[str, LiveStatus]:
        return self._timeline.live_status.latest

    def evolution(self, index: int, entry: int | None = None) -> Evolution:
        histories = self._timeline.histories
        entries = histories.entries(index)
        if entry is not None and entry not in entries:
            have = f"; there are {entries[0]} to {entries[-1]}" if entries else ""
            raise UsageError(
                f"entry {entry} of loop '{self.symbols.loops[index].loop.name}' is not remembered{have}",
                loop=self.symbols.loops[index].loop.name,
                name=f"entry {entry}",
            )
        return histories.entry_history(index, entry)

    @property
    def frame(self) -> LiveFrameReader:
        stack = self.engine.stack
        return self._frame(stack[-1] if stack else self._last_loop if self.stop.done else MAIN_GRAPH)

    @property
    def frames(self) -> list[LiveFrameReader]:
        return [self._frame(index) for index in (MAIN_GRAPH, *self.engine.stack)]

    def frames_by_reference(self) -> list[LiveFrameReader]:
        loops = (MAIN_GRAPH, *self.engine.stack)
        return [LiveFrameReader(self._timeline, index, self.session_lock, uses_references=True) for index in loops]

    def _frame(self, index: int) -> LiveFrameReader:
        """The frame of a loop, cached within an epoch because it caches computed values."""
        epoch = self.engine.epoch
        if self._frames_epoch != epoch:
            self._frames_epoch = epoch
            self._frames.clear()
        if index not in self._frames:
            self._frames[index] = LiveFrameReader(self._timeline, index, self.session_lock)
        return self._frames[index].current()

    def is_at_boundary(self) -> bool:
        engine = self.engine
        return bool(engine.stack) and engine.pc == engine.plan.loops[engine.stack[-1]].head

    def current_loop_index(self) -> int:
        stack = self.engine.stack
        loop = stack[-1] if stack else self._timeline.last_exited_loop()
        return loop if loop >= 0 else 0 if self.symbols.loops else -1

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
        return bool(self.engine.position == self._timeline.start_position)

    def set_inputs(self, inputs: Mapping[str, Data]) -> None:
        """Prepare a run with some inputs replaced.

        Raises:
            InputError: an input is unknown or does not fit.
        """
        merged = {**resolve_aliases(self.model.graph, self.inputs), **resolve_aliases(self.model.graph, inputs)}
        self.model.check(merged)
        new_inputs = {name: private_copy(value) for name, value in merged.items()}
        self._slot_inputs = self.model.check(new_inputs)
        self.inputs = new_inputs
        self.restart_inputs |= resolve_aliases(self.model.graph, inputs).keys()
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
        first = AnyBoundaryDestination() if self.symbols.loops else FirstNodeDestination()
        stop = self.run_to(first, quietly=True, raising=True)
        timeline.start_position = self.position
        self.prime_all_breakpoints()
        return stop

    # -- commands

    def set_max_iterations(self, limit: int | None) -> None:
        self.max_iterations = limit

    def restart(self, inputs: Mapping[str, Data] | None) -> Stop:
        if inputs:
            self.set_inputs(inputs)
        timeline, start = self._timeline, self._timeline.start_position
        if start is not None:
            return self.travel(lambda: timeline.go_to(start, timeline.branches[0]))
        return self.run_to_first_loop()

    def step(self) -> Stop:
        self._prepare_to_resume()
        if not self.model.loops:
            return self.run_to(self._next_node_destination())
        stack = self._active_loops()
        if stack and len(stack) == len(self.engine.stack):
            iteration = self.engine.loop_state(stack[-1])[0] + 1
            return self.run_to(LoopBoundaryDestination(stack[-1], iteration))
        return self.run_to(AnyBoundaryDestination())

    def next_node(self) -> Stop:
        self._prepare_to_resume()
        return self._enter_body() or self.run_to(self._next_node_destination())

    def into(self) -> Stop:
        self._prepare_to_resume()
        return self._enter_body() or self.run_to(self._next_node_destination(into=True))

    def finish(self) -> Stop:
        self._prepare_to_resume()
        stack = self._active_loops()
        if stack:
            return self.run_to(LoopEndDestination(stack[-1]))
        return self.run_to(AnyBoundaryDestination() if self.engine.stack else ModelEndDestination())

    def run_to_iteration(self, iteration: int) -> Stop:
        self._prepare_to_resume()
        stack = self._active_loops()
        if not stack:
            raise UsageError("no loop is running here; until needs one")
        current = self.engine.loop_state(stack[-1])[0]
        if iteration <= current:
            raise UsageError(
                f"iteration {iteration} is not ahead of {current}; goto {iteration} goes back",
                iteration=iteration,
                expected=f"more than {current}",
                got=str(iteration),
            )
        return self.run_to(LoopBoundaryDestination(stack[-1], iteration))

    def continue_(self) -> Stop:
        self._prepare_to_resume()
        return self.run_to(ModelEndDestination())

    def back(self, count: int) -> tuple[Stop, int]:
        counts = [count]
        return self.travel(lambda: counts.append(self._timeline.back(count))), counts[-1]

    def back_node(self) -> Stop:
        return self.travel(self._timeline.back_node)

    def edit(self, frame: Any, change: Callable[[StateEditor], str]) -> Branch:
        from .editor import StateEditor

        reader = self.reader_of(frame)
        if self.stop.done:
            raise UsageError("the model ran to its end, so nothing would use it; go back first: back, or goto N")
        ancestry = reversed(self.branch.ancestry())
        edited = {e.value: e.new_value for branch in ancestry for e in branch.edit_records if e.value is not None}
        editor = StateEditor(self.engine, reader, edited)
        branch = self._timeline.edit(lambda: change(editor))
        branch.edit_records += editor.edit_records
        self._outputs = None
        self.stop = self.current_stop()
        return branch

    def undo(self) -> Stop:
        return self.travel(self._timeline.undo)

    def save(self, path: Path, force: bool) -> list[Path]:
        from .save_edits import save_edits

        return save_edits(self.model, self.branch, path, force)

    def switch(self, number: int) -> Stop:
        timeline = self._timeline
        branch = timeline.branch_numbered(number)
        timeline.update_branch_tip()
        return self.travel(lambda: timeline.go_to(branch.tip, branch))

    @property
    def branches(self) -> list[Branch]:
        return self._timeline.branches

    @property
    def branch(self) -> Branch:
        return self._timeline.current_branch

    def side_by_side(self, first: Branch, second: Branch) -> Iterator[tuple[Boundary, Boundary]]:
        return self._timeline.branch_boundary_pairs(first, second)

    # -- running forward

    def _prepare_to_resume(self) -> None:
        """Allow as many iterations again after a limit.

        Raises:
            UsageError: the model ran to its end.
        """
        if self.stop.done:
            raise UsageError("the model ran to its end; restart to run it again")
        if self.stop.reason is Reason.LIMIT and self.engine.stack:
            self.engine.raise_limit(self.engine.stack[-1], self.max_iterations or 1)

    def _enter_body(self) -> Stop | None:
        """Go from a boundary to the first node of the body; returns any other stop on the way, or None."""
        if not self.is_at_boundary() or self.engine.loop_state(self.engine.stack[-1])[3] is not None:
            return None
        stop = self.run_to(self._next_node_destination())
        return None if stop.reason is Reason.NODE else stop

    def _active_loops(self) -> list[int]:
        """The running loops except one that is at its end."""
        stack = list(self.engine.stack)
        if self.is_at_boundary() and self.engine.loop_state(stack[-1])[3] is not None:
            stack.pop()
        return stack

    def _next_node_destination(self, into: bool = False) -> NextNodeDestination:
        """The next node of this body, or a boundary of an enclosing loop."""
        ahead = [LoopBoundaryDestination(k, self.engine.loop_state(k)[0] + 1) for k in self._active_loops()]
        return NextNodeDestination(len(self.engine.stack), ahead, into)

    def run_to(self, destination: Destination, *, quietly: bool = False, raising: bool = False) -> Stop:
        """Run until a destination is reached or a breakpoint hits. ``quietly``: ignore breakpoints; ``raising``: raise
        an error of the model instead of returning it as a stop."""
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
                self._refuse_infinite_loops(destination)
                destination.arm(engine)
                if not quietly and self.breakpoints.in_order:
                    self._installer.install(self.breakpoints)
                event, index = self._resume(raising)
                if event == "end":
                    # Values of the main graph are tested once they are computed; now all are.
                    hits = [] if quietly else self.breakpoints.find_hits(self._frame(MAIN_GRAPH))
                    break
                if event in ("limit", "interrupt", "error"):
                    break
                hits = [] if quietly else self._current_hits()
                if hits or destination.is_reached(engine, event, index):
                    break
                if event == "boundary":
                    self._timeline.on_boundary_passed()
        finally:
            if self._installer.is_installed:
                self._installer.uninstall()
            self._allow_infinite_loops()
        if hits:
            self.stop = self.hit_stop(hits)
            self._outputs = None
        elif event in ("node", "boundary"):
            self.stop = self._event_stop(event)
        self._timeline.update_branch_tip()
        if self.is_at_boundary():
            self._timeline.save_checkpoint(cheap=True)
        return self.stop

    def _resume(self, raising: bool) -> tuple[str, int]:
        """Run the engine once; the end, a limit, an interrupt or an error sets the stop."""
        try:
            event, index = self._timeline.resume()
        except LimitError:
            # Not an error of the model: the command is rejected.
            self.stop = self.current_stop()
            self._timeline.update_branch_tip()
            raise
        except LoopdbgError as error:
            self.stop = error_stop(error)
            if raising:
                raise
            return "error", -1
        if event in ("end", "limit", "interrupt"):
            self.stop = self._event_stop(event)
        return ("boundary" if event == "predicate" else event), index

    def _refuse_infinite_loops(self, destination: Destination) -> None:
        """Reject provably infinite loops in unattended sessions. A running one may continue if the destination or an
        unconditional breakpoint is certain to stop it."""
        if self.attended or self.max_iterations is not None:
            return
        bounded = not isinstance(destination, ModelEndDestination | LoopEndDestination)
        running = [self.engine.plan.loops[index] for index in self.engine.stack]
        certain = any(plan.endless_from >= 0 and (bounded or self._certainly_stops(plan.index)) for plan in running)
        self.engine.set_limits(None, not certain)

    def _allow_infinite_loops(self) -> None:
        """Accept any loop while moving to a position."""
        if not self.attended and self.max_iterations is None:
            self.engine.set_limits(None)

    def _certainly_stops(self, index: int) -> bool:
        """True if a breakpoint is certain to stop in a running loop."""
        iteration = self.engine.loop_state(index)[0]
        for b in self.breakpoints:
            if not b.enabled or b.condition is not None or b.log is not None or b.ignore:
                continue
            if index in b.loops and b.kind is Trigger.BOUNDARY:
                return True
            matches = b.kind is Trigger.ITERATION and b.loops == (index,) and len(b.iterations) == 1
            if matches and b.iterations[0] > iteration:
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
        """Whether a breakpoint hits at the engine's current boundary, during a run."""
        return breakpoint_.trigger_matches(LiveFrameReader(self._timeline, index, self.session_lock))

    def _current_hits(self, *, silently: bool = False) -> list[Breakpoint]:
        """The breakpoints that hit at the current position."""
        if not self.breakpoints.in_order:
            return []
        return self.breakpoints.find_hits(
            self.frame, None if self.is_at_boundary() else self._node_at(self.engine.pc), silently=silently
        )

    def _go_to_origin(self, breakpoint_: Breakpoint) -> Stop | None:
        """Go from a boundary to right after the node that gave what a breakpoint waits for."""
        here = self.position
        iteration = here[-2]
        if iteration == 0:
            return None
        last_test = breakpoint_.last_tests.get(self.frame.index)
        timeline = self._timeline
        self._run_move(lambda: timeline.go_to((*here[:-2], iteration - 1, here[-1])))
        producer, frame = None, self.frame
        before = frame.values.read_all(() if frame.loop is None else frame.loop.body.inputs)
        for position in step_nodes_until(self.engine, here):
            if producer is not None and breakpoint_.is_triggered_by_node(self.frame, producer, before):
                break
            producer = self._node_at(position[-1])
        if producer is None:
            self._run_move(lambda: timeline.go_to(here))
            return None
        if self.position == here and not breakpoint_.is_triggered_by_node(self.frame, producer, before):
            return None
        if last_test is not None:
            breakpoint_.suppress_repeated_hit(last_test)
        return origin_stop(producer, iteration - 1, self.frame.loop, NODE_RESULT_TRIGGERS[breakpoint_.kind])

    # -- time travel

    def prime_breakpoints(self, *breakpoints: Breakpoint) -> None:
        boundary = self.is_at_boundary()
        for breakpoint_ in breakpoints:
            if breakpoint_.is_in_main_graph:
                breakpoint_.record_baseline_at(self._frame(MAIN_GRAPH))
            elif boundary:
                breakpoint_.record_baseline_at(self.frame)

    def prime_all_breakpoints(self) -> None:
        self.prime_breakpoints(*self.breakpoints)

    def travel(self, move: Callable[[], None]) -> Stop:
        """Move through time and set the stop.

        Raises:
            ExecutionError, MemoryError: it failed on the way; the session is back at its old position.
        """
        self._timeline.update_branch_tip()
        old_position, branch = self.position, self._timeline.current_branch
        try:
            self._run_move(move)
        except InterruptError:
            self.stop = self._event_stop("interrupt")
        except (ExecutionError, MemoryError) as error:
            # Re-execution fails only for lack of memory, and the old position needs less.
            if self._return_to(old_position, branch):
                raise
            self.stop = error_stop(error)
        else:
            self.stop = self.current_stop()
        return self.stop

    def _return_to(self, position: Position, branch: Branch) -> bool:
        """Return to a position after a failed move; False if that fails as well."""
        try:
            self._run_move(lambda: self._timeline.go_to(position, branch, force=True))
        except (LoopdbgError, MemoryError):
            return False
        self.stop = self.current_stop()
        return True

    def _run_move(self, move: Callable[[], None]) -> None:
        old_epoch = self.epoch
        try:
            move()
        finally:
            if self.epoch != old_epoch:
                self._outputs = None
        self.prime_all_breakpoints()

    def go_to(self, position: Position) -> Stop:
        """Go to a position that this branch has passed."""
        with self.session_lock.hold():
            return self.travel(lambda: self._timeline.go_to(position))

    def go_to_iteration(self, iteration: int) -> Stop:
        outer, index = self._timeline.current_entry()
        target = self._timeline.boundary_position(outer, index, iteration)
        current, _, _, ended, _ = self.engine.loop_state(index)
        loop = self.symbols.loops[index].loop
        if iteration > current and ended is not None:
            raise UsageError(no_iteration_text(loop, iteration, current), loop=loop.name, iteration=iteration)
        if iteration < current or target <= self.position:
            return self.travel(lambda: self._timeline.go_to(target))
        stop = self.run_to(LoopBoundaryDestination(index, iteration), quietly=True)
        if self.position != target and stop.reason in (Reason.LOOP_END, Reason.ENTRY):
            count = self.engine.loop_state(index)[0]
            why = no_iteration_text(loop, iteration, count)
            raise UsageError(f"{why}, where the session is now", loop=loop.name, iteration=iteration)
        return stop

    def reverse_continue(self) -> Stop:
        timeline = self._timeline
        timeline.update_branch_tip()
        try:
            arm = partial(self._installer.install, self.breakpoints)
            hit = timeline.reverse_search(
                arm, self._installer.uninstall, self.prime_all_breakpoints, self._hits_with_details
            )
        finally:
            self._installer.uninstall()
        if hit is None:
            self._run_move(lambda: timeline.go_to(timeline.start_position or (0,), force=True))
            self.stop = no_hit_stop(self.current_stop())
            return self.stop
        position, details = hit
        self._run_move(lambda: timeline.go_to(position, force=True))
        for breakpoint_, change, failure in details:
            breakpoint_.change_text, breakpoint_.failure = change, failure
        self.stop = self.hit_stop([breakpoint_ for breakpoint_, _, _ in details])
        return self.stop

    def _hits_with_details(self) -> list[tuple[Breakpoint, str, str]] | None:
        """The breakpoints that hit here, with their change or failure text; None: there is none."""
        return [(b, b.change_text, b.failure) for b in self._current_hits(silently=True)] or None

    # -- stops

    def current_stop(self) -> Stop:
        """The stop for a position that was reached by a jump."""
        if self.engine.pc == len(self.engine.plan.code) - 1:
            return self._event_stop("end")
        return self._event_stop("boundary" if self.is_at_boundary() else "node")

    def _event_stop(self, event: str) -> Stop:
        stack = self.engine.stack
        if event == "end":
            self._outputs = self.engine.results()
            self._last_loop = self._timeline.last_exited_loop()
            text = "the model ran to its end" if self.model.loops else "the model ran to its end; it has no loop"
            return Stop(Reason.DONE, text)
        frame = self.frame
        if event == "node":
            node = self._node_at(self.engine.pc)
            text = f"before {node.op_type} '{escape_unprintable(node.name)}'"
            if stack:
                text += f" in iteration {frame.iteration} of {loop_label(frame.loop)}"
            elif not self.model.loops:
                text += "; the model has no loop"
            return stop_in_frame(frame, Reason.NODE, text, node)
        if event == "limit":
            text = f"{loop_label(frame.loop)} reached the limit of {frame.iteration} iterations"
            return stop_in_frame(frame, Reason.LIMIT, text)
        return interrupt_stop(frame) if event == "interrupt" else boundary_stop(frame)


class Destination(Protocol):
    """``arm`` makes the engine stop where it may be reached; ``is_reached`` tests a stop of the engine."""

    def arm(self, engine: Engine) -> None: ...
    def is_reached(self, engine: Engine, event: str, index: int) -> bool: ...


class ModelEndDestination:
    """The end of the model."""

    def arm(self, engine: Engine) -> None:
        """No-op."""

    def is_reached(self, engine: Engine, event: str, index: int) -> bool:
        """Never."""
        return False


class AnyBoundaryDestination:
    """The next boundary of any loop."""

    def arm(self, engine: Engine) -> None:
        engine.stop_anywhere()

    def is_reached(self, engine: Engine, event: str, index: int) -> bool:
        """At any boundary."""
        return event == "boundary"


@dataclass(frozen=True)
class LoopBoundaryDestination:
    """The first boundary of a loop at or after an iteration, or the loop's end."""

    index: int
    iteration: int

    def arm(self, engine: Engine) -> None:
        engine.stop_at(self.index, self.iteration)

    def is_reached(self, engine: Engine, event: str, index: int) -> bool:
        """At that boundary, a later one, or the loop's end."""
        iteration, _, _, ended, _ = engine.loop_state(self.index)
        return event == "boundary" and index == self.index and (iteration >= self.iteration or ended is not None)


@dataclass(frozen=True)
class LoopEndDestination:
    """The end of a loop."""

    index: int

    def arm(self, engine: Engine) -> None:
        engine.stop_at_end(self.index)

    def is_reached(self, engine: Engine, event: str, index: int) -> bool:
        """At the loop's last boundary."""
        return event == "boundary" and index == self.index and engine.loop_state(index)[3] is not None


class FirstNodeDestination:
    """The very next node, in a model whose loops have not begun."""

    def arm(self, engine: Engine) -> None:
        engine.stop_before_node()

    def is_reached(self, engine: Engine, event: str, index: int) -> bool:
        """At any node."""
        return event == "node"


class NextNodeDestination:
    """The next node of the current body, of an outer body if this one ends, or the next boundary of a running loop.
    ``into``: a boundary of an inner loop counts as well."""

    def __init__(self, depth: int, boundaries: Sequence[LoopBoundaryDestination], into: bool = False) -> None:
        self.depth = depth
        self.boundaries = boundaries
        self.step_into = into

    def arm(self, engine: Engine) -> None:
        """The current node does not count."""
        engine.stop_at_node(self.depth)
        for boundary in self.boundaries:
            boundary.arm(engine)
        if self.step_into:
            engine.stop_anywhere()

    def is_reached(self, engine: Engine, event: str, index: int) -> bool:
        """At a node that is not deeper, or at one of the boundaries."""
        if event == "node":
            return len(engine.stack) <= self.depth
        if self.step_into and event == "boundary":
            return True
        return any(boundary.is_reached(engine, event, index) for boundary in self.boundaries)
