"""The timeline of a session: checkpoints, branches, and travel to any past position.

There is one engine. Its checkpoints are dense for recent execution and thinned out with age, so that their memory stays
within a limit; travel restores the nearest earlier one and runs on from there, which is bit-identical. An edit forks a
branch: positions before its fork belong to the parent branch.
"""

from __future__ import annotations

import bisect
import threading
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...runtime.engine.engine import Engine
from ...runtime.engine.history.checkpoints import Checkpoint
from ...runtime.errors import UsageError
from ...runtime.frame import Frame
from ...runtime.graph import Value
from ...runtime.model import Data
from ...runtime.plan.plan import Plan
from ..describe.numbered_items import find_by_number
from ..statistics.tensor_statistics import StatsCache
from .boundary import Boundary, read_boundary
from .live_status import HistorySampler, LiveStatusSampler
from .positions import Position, loop_levels, run_to, step_nodes_until
from .reverse_search import Hits, ReverseSearch, iterations_of_ended_loops
from .value_fingerprints import ValueFingerprints

#: Bytes that the checkpoints of all branches may hold together.
DEFAULT_CHECKPOINT_BYTES = 512 << 20
#: Seconds of execution between checkpoints; more if taking one is slow.
CHECKPOINT_INTERVAL_SECONDS = 0.01
#: Maximum share of the time for checkpoints.
CHECKPOINT_MAX_TIME_SHARE = 0.1
#: Approximate copy rate into new memory.
COPY_BYTES_PER_SECOND = 5e8


@dataclass(frozen=True)
class EditRecord:
    """``kind``: ``value``, ``variable``, ``condition`` or ``trip count``; ``value``: for the first; ``loop``: loop
    index for the last two; ``new_value``: the complete new value; ``position``: of the edit; ``text``: its
    description."""

    kind: str
    new_value: Any
    position: Position
    text: str
    value: Value | None = None
    loop: int = -1


@dataclass(repr=False)
class Branch:
    """One branch of the timeline. ``fork``: the position where it left ``parent``; the root has neither.

    ``edits``: the edits at its fork as text of the ``set`` command; ``edit_records``: the same as records. ``tip``: the
    last position reached on it. ``checkpoints``: ordered by position; ``checkpoint_seconds``: execution time at each.
    ``undo_checkpoints``: the states at the fork after each edit but the last, for undo.
    """

    number: int
    parent: Branch | None = None
    fork: Position | None = None
    edits: list[str] = field(default_factory=list)
    tip: Position = ()
    checkpoints: list[Checkpoint] = field(default_factory=list)
    checkpoint_seconds: list[float] = field(default_factory=list)
    edit_records: list[EditRecord] = field(default_factory=list)
    undo_checkpoints: list[Checkpoint] = field(default_factory=list)

    def __repr__(self) -> str:
        origin = "" if self.parent is None else f" from {self.parent.number}: {', '.join(self.edits)}"
        return f"<Branch {self.number}{origin}>"

    def latest_checkpoint(self, position: Position, *, before: bool = False) -> Checkpoint | None:
        """The last checkpoint of this branch at or before a position; ``before``: strictly before."""
        bisection = bisect.bisect_left if before else bisect.bisect_right
        index = bisection(self.checkpoints, position, key=lambda c: c.position)
        return self.checkpoints[index - 1] if index else None

    def contains(self, position: Position) -> bool:
        """False if a position is before the fork, hence on the parent branch."""
        return self.fork is None or position >= self.fork

    def add_checkpoint(self, checkpoint: Checkpoint, seconds: float) -> bool:
        """Store a checkpoint with its execution time; False if there is one at its position."""
        index = bisect.bisect_left(self.checkpoints, checkpoint.position, key=lambda c: c.position)
        if index < len(self.checkpoints) and self.checkpoints[index].position == checkpoint.position:
            return False
        self.checkpoints.insert(index, checkpoint)
        self.checkpoint_seconds.insert(index, seconds)
        return True

    def append_edit(self, text: str) -> None:
        """Add an edit at the fork; the state before it is kept for undo."""
        self.edits.append(text)
        self.undo_checkpoints += self.checkpoints
        self.checkpoints.clear()
        self.checkpoint_seconds.clear()

    def without_last_edit(self, number: int) -> Branch:
        """A branch with all edits of this one but the last; there must be several."""
        count = len(self.edits) - 1
        branch = Branch(number, self.parent, self.fork, self.edits[:count], self.fork or ())
        branch.edit_records, branch.undo_checkpoints = self.edit_records[:count], self.undo_checkpoints[:-1]
        branch.add_checkpoint(self.undo_checkpoints[-1], 0.0)
        return branch

    def ancestry(self) -> list[Branch]:
        """This branch and its ancestors, the root last."""
        return [self] if self.parent is None else [self, *self.parent.ancestry()]


class Timeline:
    """All branches of a session, the current one, and the engine's position on it."""

    def __init__(self, engine: Engine, inputs: Mapping[int, Data], on_tick: Callable[[], None]) -> None:
        self.engine = engine
        #: Called about every 10 ms while the engine runs, in its thread.
        self._on_tick = engine.on_tick = on_tick
        self.limit_bytes = DEFAULT_CHECKPOINT_BYTES
        self.histories = HistorySampler(engine)
        self.live_status = LiveStatusSampler(engine, self.histories)
        #: Statistics of large values.
        self.stats_cache = StatsCache()
        self._fingerprints: ValueFingerprints | None = None
        self.branches = [Branch(1)]
        self.current_branch = self.branches[0]
        #: The start of the session, the earliest position.
        self.start_position: Position | None = None
        self._inputs = inputs
        self._historical_engine = HistoricalEngine(engine.plan, inputs)
        self._nbytes = 0
        #: Seconds of execution so far, those when a checkpoint is due, and what the last one took.
        self._run_seconds = 0.0
        self._checkpoint_due_seconds = 0.0
        self._checkpoint_cost_seconds = 0.0
        self._resume_time = 0.0

    # -- position

    @property
    def position(self) -> Position:
        """The engine's position in the execution; positions of one branch are ordered by time."""
        position: Position = self.engine.position
        return position

    def fingerprint(self, slot: int, before: int = 0) -> Hashable | None:
        """The fingerprint of a slot's contents here; see :meth:`.value_fingerprints.ValueFingerprints.fingerprint`."""
        if self._fingerprints is None:
            self._fingerprints = ValueFingerprints(self.engine.plan)
        branch = self.current_branch
        state = branch.number, len(branch.edits)
        return self._fingerprints.fingerprint(self.engine, slot, state, branch.fork, before)

    def last_exited_loop(self) -> int:
        """The last completed loop of the main graph; -1: there is none."""
        engine = self.engine
        done = [p for p in engine.plan.loops if p.parent < 0 and p.exit < engine.pc and engine.loops.totals(p.index)[1]]
        return max(done, key=lambda plan: plan.exit).index if done else -1

    def current_entry(self) -> tuple[Position, int]:
        """The position prefix of the entry of the current loop, and the loop.

        Raises:
            UsageError: no loop is running, and none has run.
        """
        stack = self.engine.stack
        if stack:
            return self.position[: 2 * len(stack) - 2], stack[-1]
        index = self.last_exited_loop()
        if index < 0:
            raise UsageError("no loop is running here, and none has run")
        return (), index

    def boundary_position(self, prefix: Position, index: int, iteration: int) -> Position:
        """The position of a loop's boundary before an iteration."""
        plan = self.engine.plan.loops[index]
        return (*prefix, plan.enter, iteration, plan.head)

    # -- forward

    def resume(self) -> tuple[str, int]:
        """Run the engine until it stops, at the latest when a checkpoint is due."""
        self._resume_time = time.monotonic()
        self.engine.on_tick = self._stop_if_due
        try:
            return self.engine.resume()
        finally:
            self.engine.on_tick = self._on_tick
            self.engine.clear_stops()
            self._run_seconds += time.monotonic() - self._resume_time

    def _stop_if_due(self) -> None:
        """Called about every 10 ms while the engine runs."""
        self._on_tick()
        if (
            self._run_seconds + time.monotonic() - self._resume_time >= self._checkpoint_due_seconds
            or self.live_status.is_sample_due
        ):
            self.engine.stop_anywhere()

    def on_boundary_passed(self) -> None:
        """Do periodic work at a boundary without a stop."""
        self.save_checkpoint(due=True)
        self.live_status.sample_if_due()

    def update_branch_tip(self) -> None:
        """Record the progress of the current branch."""
        self.current_branch.tip = max(self.current_branch.tip, self.position)

    # -- checkpoints

    @property
    def nbytes(self) -> int:
        """The size of all checkpoints."""
        return self._nbytes

    def __len__(self) -> int:
        return sum(len(branch.checkpoints) for branch in self.branches)

    def postpone_checkpoint(self) -> None:
        """When a command begins: make the next checkpoint due after the interval."""
        self._checkpoint_due_seconds = max(
            self._checkpoint_due_seconds, self._run_seconds + CHECKPOINT_INTERVAL_SECONDS
        )

    def save_checkpoint(self, *, due: bool = False, cheap: bool = False, force: bool = False) -> None:
        """Save a checkpoint of the current position, unless there is one. ``due``: only if one is due; ``cheap``: only
        if the last one took negligible time; ``force``: even if there is one."""
        if (due and self._run_seconds < self._checkpoint_due_seconds) or (
            cheap and self._checkpoint_cost_seconds >= CHECKPOINT_INTERVAL_SECONDS
        ):
            return
        position = self.position
        nearest = self.current_branch.latest_checkpoint(position)
        if (due or cheap) and nearest is not None and self._is_copy_too_expensive(nearest):
            self._checkpoint_due_seconds = self._run_seconds + CHECKPOINT_INTERVAL_SECONDS
            return
        if force or nearest is None or nearest.position != position:
            started = time.monotonic()
            try:
                self._add_checkpoint(self.engine.checkpoints.save(), self._run_seconds)
            except MemoryError:
                # An optional checkpoint is not worth an error: travel can start from an earlier one.
                if nearest is None or not (due or cheap):
                    raise
            self._checkpoint_cost_seconds = time.monotonic() - started
        self._checkpoint_due_seconds = self._run_seconds + max(
            CHECKPOINT_INTERVAL_SECONDS, self._checkpoint_cost_seconds / CHECKPOINT_MAX_TIME_SHARE
        )

    def _is_copy_too_expensive(self, last: Checkpoint) -> bool:
        """Whether copying the carried values exceeds its share of the time since a checkpoint, or the memory limit:
        then re-execution from there is cheaper."""
        engine = self.engine
        nbytes = 0
        for index in engine.stack:
            for edge in engine.plan.loops[index].edges:
                value = engine.peek(edge.param)
                # The values of the next and the previous iteration.
                nbytes += 2 * value.nbytes if isinstance(value, np.ndarray) else 0
        if nbytes < CHECKPOINT_INTERVAL_SECONDS * COPY_BYTES_PER_SECOND:
            return False
        age = self._run_seconds - self.current_branch.checkpoint_seconds[self.current_branch.checkpoints.index(last)]
        return nbytes > self.limit_bytes or age * CHECKPOINT_MAX_TIME_SHARE < nbytes / COPY_BYTES_PER_SECOND

    def _add_checkpoint(self, checkpoint: Checkpoint, seconds: float) -> None:
        if self.current_branch.add_checkpoint(checkpoint, seconds):
            self._nbytes += checkpoint.nbytes
            self._thin_checkpoints(seconds)

    def set_limit(self, nbytes: int) -> None:
        """Limit the memory of checkpoints; the first of each branch always stays."""
        self.limit_bytes = nbytes
        self._thin_checkpoints(max((t for branch in self.branches for t in branch.checkpoint_seconds), default=0.0))

    def _thin_checkpoints(self, now: float) -> None:
        """Drop checkpoints until they fit, those with a small gap for their age first."""
        while self._nbytes > self.limit_bytes and (dropped := drop_checkpoint(self.branches, now)) is not None:
            self._nbytes -= dropped

    # -- travel

    def go_to(self, target: Position, branch: Branch | None = None, *, force: bool = False) -> None:
        """Move the engine to a position of a branch (default: the current one); ignores breakpoints.

        ``force``: restore a checkpoint in any case, as the engine may be off the current branch.

        Raises:
            UsageError: nothing is known of that time.
            InterruptError, ExecutionError, LimitError: it stopped on the way, and stays there.
        """
        owner = self._branch_containing(target, branch)
        checkpoint = owner.latest_checkpoint(target)
        if checkpoint is None:
            raise UsageError("nothing is known of that time")
        if force or owner is not self.current_branch or not checkpoint.position <= self.position <= target:
            self.engine.checkpoints.restore(checkpoint)
        self.current_branch = owner
        run_to(self.engine, target)

    def back(self, count: int = 1) -> int:
        """Go to the previous boundary of this loop, or from its first one to before the loop; up to ``count``
        boundaries of one entry at once.

        Returns: the number of steps, at least 1.

        Raises:
            UsageError: there is nothing before.
        """
        position = self.position
        if not self.engine.stack and self.last_exited_loop() < 0:
            self.back_node()
            return 1
        prefix, index = self.current_entry()
        iteration = self.engine.loop_state(index)[0]
        is_inside = self.boundary_position(prefix, index, iteration) < position
        available = iteration + is_inside
        if available == 0:
            self.back_node()
            return 1
        steps = min(count, available)
        self.go_to(self.boundary_position(prefix, index, available - steps))
        return steps

    def back_node(self) -> None:
        """Go to the previous node of the same body, or to the boundary before its first; an inner loop is one node.

        Raises:
            UsageError: there is nothing before.
        """
        position = self.position
        if self.start_position is not None and position <= self.start_position:
            raise UsageError("this is where the session began; there is nothing before")
        pairs = loop_levels(position)
        start: Position = (0,)
        plan = None
        if pairs:
            enter, iteration = pairs[-1]
            plan = self.engine.plan.loops[self.engine.plan.code[enter].loop]
            if position[-1] > plan.head:
                start = (*position[:-1], plan.head)
            elif iteration > 0:
                start = (*position[:-2], iteration - 1, plan.head)
            else:
                # At the first boundary of a loop, the previous node is the loop itself or part of its test.
                start = position[:-2]
        self.go_to(start)
        earlier = list(step_nodes_until(self.engine, position))
        # The boundary precedes the first node of an iteration.
        if earlier and plan is not None and start[-1] == plan.head and earlier[0][-1] > plan.head:
            del earlier[0]
        target = earlier[-1] if earlier else start
        self.go_to(max(target, self.start_position or target))

    def reverse_search(
        self,
        arm: Callable[[tuple[int, ...]], None],
        disarm: Callable[[], None],
        on_restore: Callable[[], None],
        test: Callable[[], Hits | None],
    ) -> tuple[Position, Hits] | None:
        """The last hit before the current position, searched segment by segment; None: there is none. The final
        position of the engine is unspecified. See :class:`.reverse_search.ReverseSearch`."""
        position = self.position
        search = ReverseSearch(self.engine, arm, disarm, on_restore, test, iterations_of_ended_loops(self.engine))
        for checkpoint, end in self._segments_backward(position):
            hit = search.find_last_hit(checkpoint, end, position)
            if hit is not None or checkpoint.position <= (self.start_position or (0,)):
                return hit
        return None

    def _segments_backward(self, position: Position) -> Iterator[tuple[Checkpoint, Position]]:
        """The current branch and its ancestors up to a position as segments between checkpoints, the last one first."""
        end = position
        for branch in self._branch_containing(position).ancestry():
            while (checkpoint := branch.latest_checkpoint(end, before=True)) is not None:
                yield checkpoint, end
                end = checkpoint.position

    def _branch_containing(self, position: Position, branch: Branch | None = None) -> Branch:
        """The branch that contains a position, among a branch (default: the current one) and its ancestors."""
        lineage = (branch or self.current_branch).ancestry()
        return next((b for b in lineage if b.contains(position)), lineage[-1])

    def detached_engine(self, position: Position) -> Engine:
        """A separate engine at a position of the current branch, which may be past its tip.

        Raises:
            UsageError: nothing is known of that time.
            NonDeterminismError: the branch does not reach it.
        """
        checkpoint = self._branch_containing(position).latest_checkpoint(position)
        if checkpoint is None:
            raise UsageError("nothing is known of that time")
        engine = Engine(self.engine.plan)
        engine.start(self._inputs)
        engine.checkpoints.restore(checkpoint)
        run_to(engine, position)
        return engine

    # -- values of other iterations

    def engine_at_boundary(self, index: int, iteration: int) -> Engine:
        """A separate engine at the boundary of a running loop, in its current entry, before an earlier iteration; valid
        until the next call.

        Raises:
            UsageError: nothing is known of that time.
            InterruptError: it was interrupted.
        """
        stack = self.engine.stack
        depth = stack.index(index) if index in stack else 0
        position = self.boundary_position(self.position[: 2 * depth], index, iteration)
        return self._historical_engine.engine_at(self._branch_containing(position), position)

    def interrupt(self) -> None:
        """Stop the running command; from any thread."""
        self.engine.interrupt()
        self._historical_engine.interrupt()

    # -- branches

    def branch_numbered(self, number: int) -> Branch:
        """The branch with a number.

        Raises:
            UsageError: there is none.
        """
        return find_by_number("branch", self.branches, number)

    def edit(self, change: Callable[[], str]) -> Branch:
        """Edit the engine's state and fork a branch; ``change`` returns its description. A further edit at the same
        position is added to the same branch."""
        self.update_branch_tip()
        self.save_checkpoint(force=True)
        text = change()
        self._historical_engine.invalidate()
        checkpoint = self.engine.checkpoints.save()
        branch = self.current_branch
        if branch.fork is not None and branch.fork == branch.tip == checkpoint.position:
            branch.append_edit(text)
        else:
            branch = self._append_branch(
                Branch(self._next_branch_number, branch, checkpoint.position, [text], checkpoint.position)
            )
            self.current_branch = branch
        self._add_checkpoint(checkpoint, 0.0)
        return branch

    def undo(self) -> None:
        """Go to before the last edit of the current branch: to a branch with its other edits, or the parent branch.

        Raises:
            UsageError: there is no edit.
        """
        branch = self.current_branch
        if branch.parent is None or branch.fork is None:
            raise UsageError("nothing was set on this branch", expected="an edit")
        target = (
            self._append_branch(branch.without_last_edit(self._next_branch_number))
            if branch.undo_checkpoints
            else branch.parent
        )
        self.go_to(branch.fork, target)

    @property
    def _next_branch_number(self) -> int:
        return max(branch.number for branch in self.branches) + 1

    def _append_branch(self, branch: Branch) -> Branch:
        self.branches.append(branch)
        return branch

    def branch_boundary_pairs(self, first: Branch, second: Branch) -> Iterator[tuple[Boundary, Boundary]]:
        """Pairs of boundaries at the same positions of two branches, from their fork to the first tip.

        If their positions diverge (one loop ends earlier), the last pair has the boundary of each.
        """
        paths = first.ancestry(), second.ancestry()
        common = next(branch for branch in paths[0] if branch in paths[1])
        fork = min(
            branch.fork for path in paths for branch in path if branch.parent is common and branch.fork is not None
        )
        for (left_position, left), (right_position, right) in zip(
            self._branch_boundaries(first, fork), self._branch_boundaries(second, fork), strict=False
        ):
            yield left, right
            if left_position != right_position or left.ended != right.ended:
                return

    def _branch_boundaries(self, branch: Branch, start_position: Position) -> Iterator[tuple[Position, Boundary]]:
        """The boundaries of a branch and its ancestors from a position to the tip."""
        segments: list[tuple[Branch, Position, Position]] = []
        end = branch.tip
        for branch_ in branch.ancestry():
            start = start_position if branch_.fork is None else max(branch_.fork, start_position)
            segments.append((branch_, start, end))
            if branch_.fork is None or branch_.fork <= start_position:
                break
            end = branch_.fork
        engine = Engine(self.engine.plan)
        engine.start(self._inputs)
        for branch_, start, end in reversed(segments):
            checkpoint = branch_.latest_checkpoint(start)
            assert checkpoint is not None  # a branch has one at its fork
            engine.checkpoints.restore(checkpoint)
            run_to(engine, start)
            if engine.stack and engine.pc == engine.plan.loops[engine.stack[-1]].head:
                yield start, read_boundary(Frame(engine, engine.stack[-1]))
            while engine.position < end:
                engine.clear_stops()
                engine.stop_anywhere()
                event, index = engine.resume()
                # At the start of the next segment the state after the edit counts.
                if event != "boundary" or engine.position > end or (engine.position == end != branch.tip):
                    break
                yield engine.position, read_boundary(Frame(engine, index))


def drop_checkpoint(branches: Sequence[Branch], now: float) -> int | None:
    """Drop the checkpoint whose gap is smallest for its age; returns its bytes, or None if none can be dropped: the
    first checkpoint of each branch is needed to compute all positions before the second."""
    worst: tuple[float, Branch, int] | None = None
    for branch in branches:
        times = branch.checkpoint_seconds
        for k in range(1, len(times)):
            next_time = times[k + 1] if k + 1 < len(times) else now
            gap = (next_time - times[k - 1]) / max(now - times[k], 1e-3)
            if worst is None or gap < worst[0]:
                worst = (gap, branch, k)
    if worst is None:
        return None
    _, branch, k = worst
    branch.checkpoint_seconds.pop(k)
    return branch.checkpoints.pop(k).nbytes


class HistoricalEngine:
    """An engine that visits past positions; created lazily."""

    def __init__(self, plan: Plan, inputs: Mapping[int, Data]) -> None:
        self._plan = plan
        self._inputs = inputs
        self._engine: Engine | None = None
        #: The branch of the engine's state; None: none yet.
        self._branch: Branch | None = None
        self._lock = threading.Lock()

    def interrupt(self) -> None:
        """Stop a running visit."""
        if self._lock.locked() and self._engine is not None:
            self._engine.interrupt()

    def invalidate(self) -> None:
        """Discard the engine's state after checkpoints were replaced."""
        self._branch = None

    def engine_at(self, branch: Branch, position: Position) -> Engine:
        """The engine at a position that a branch has passed; valid until the next visit.

        Raises:
            UsageError: nothing is known of that time.
            InterruptError: it was interrupted.
        """
        with self._lock:
            if self._engine is None:
                self._engine = Engine(self._plan)
                self._engine.start(self._inputs)
            engine = self._engine
            checkpoint = branch.latest_checkpoint(position)
            if checkpoint is None:
                raise UsageError("nothing is known of that time")
            if self._branch is not branch or not checkpoint.position <= engine.position <= position:
                self._branch = None
                engine.checkpoints.restore(checkpoint)
            run_to(engine, position)
            self._branch = branch
            return engine
