"""Time: all positions that a session has come by, and going to any of them.

One engine is moved. Checkpoints of it are kept, densely where execution was lately and thinned out with age, so that
their memory stays within a limit; going somewhere restores the nearest one before and runs on from there, which gives
the same numbers to the bit. An edit begins a branch: what lies before its fork belongs to the branch that it left.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator, Mapping

import numpy as np

from ...runtime.engine.engine import Engine
from ...runtime.engine.history.checkpoints import Checkpoint
from ...runtime.errors import UsageError
from ...runtime.frame import Frame
from ...runtime.model import Data
from ..describe.lookup import find_by_number
from ..statistics.tensor_ref import StatsCache
from .boundary import Boundary, read_boundary
from .branches import Branch, drop_checkpoint
from .historical_values import HistoricalEngine, HistoricalValues
from .history_sampler import HistorySampler
from .live_status import LiveStatusSampler
from .positions import Position, loop_levels, nodes_until, run_to
from .reverse_search import Hits, ReverseSearch, iterations_of_ended_loops
from .value_fingerprints import ValueFingerprints

#: Bytes that the checkpoints of all branches may hold together.
DEFAULT_CHECKPOINT_BYTES = 512 << 20
#: Seconds of execution between checkpoints; more where taking one is slow.
CHECKPOINT_INTERVAL_SECONDS = 0.01
#: At most this part of the time goes into checkpoints.
CHECKPOINT_MAX_TIME_SHARE = 0.1
#: Bytes that are copied a second, about, into memory that is new.
COPY_BYTES_PER_SECOND = 5e8


class Timeline:
    """All branches of a session, the one that it is on, and where on it the engine stands."""

    def __init__(self, engine: Engine, given: Mapping[int, Data], on_tick: Callable[[], None]) -> None:
        self.engine = engine
        #: Called about every 10 ms while the engine runs, in the thread that runs it.
        self._on_tick = engine.on_tick = on_tick
        self.limit_bytes = DEFAULT_CHECKPOINT_BYTES
        self.histories = HistorySampler(engine)
        self.live_status = LiveStatusSampler(engine, self.histories)
        #: What was found of large values.
        self.stats_cache = StatsCache()
        self._fingerprints: ValueFingerprints | None = None
        self.branches = [Branch(1)]
        self.current_branch = self.branches[0]
        #: Where the session began: nothing goes back behind it.
        self.start_position: Position | None = None
        self._inputs = given
        self._historical_engine = HistoricalEngine(engine.plan, given)
        self._nbytes = 0
        #: Seconds of execution so far, those when a checkpoint is due, and what the last one took.
        self._run_seconds = 0.0
        self._checkpoint_due_seconds = 0.0
        self._checkpoint_cost_seconds = 0.0
        self._resume_time = 0.0

    # -- where it is

    @property
    def position(self) -> Position:
        """Where the engine stands in the execution; positions of one branch compare in the order of time."""
        position: Position = self.engine.position
        return position

    def fingerprint(self, slot: int, before: int = 0) -> Hashable | None:
        """What tells the contents of a slot here from others; see :meth:`.contents.Contents.key`."""
        if self._fingerprints is None:
            self._fingerprints = ValueFingerprints(self.engine.plan)
        return self._fingerprints.fingerprint(self.engine, slot, self.current_branch, before)

    def is_at_boundary(self) -> bool:
        """True where the engine stands at a boundary of the innermost loop."""
        engine = self.engine
        return bool(engine.stack) and engine.pc == engine.plan.loops[engine.stack[-1]].head

    def last_exited_loop(self) -> int:
        """The loop of the main graph that was left last; -1: none was."""
        engine = self.engine
        left = [p for p in engine.plan.loops if p.parent < 0 and p.exit < engine.pc and engine.loops.totals(p.index)[1]]
        return max(left, key=lambda plan: plan.exit).index if left else -1

    def current_entry(self) -> tuple[Position, int]:
        """What is around the entry of the loop that is meant by "this loop", and the loop.

        Raises:
            UsageError: no loop is running, and none has run.
        """
        stack = self.engine.stack
        if stack:
            return self.position[: 2 * len(stack) - 2], stack[-1]
        last = self.last_exited_loop()
        if last < 0:
            raise UsageError("no loop is running here, and none has run")
        return (), last

    def boundary_position(self, around: Position, index: int, iteration: int) -> Position:
        """The position of a loop's boundary before an iteration."""
        plan = self.engine.plan.loops[index]
        return (*around, plan.enter, iteration, plan.head)

    # -- on

    def resume(self) -> tuple[str, int]:
        """Run the engine on until it stops; at the latest where a checkpoint is due."""
        self._resume_time = time.monotonic()
        self.engine.on_tick = self._tick
        try:
            return self.engine.resume()
        finally:
            self.engine.on_tick = self._on_tick
            self.engine.clear_stops()
            self._run_seconds += time.monotonic() - self._resume_time

    def _tick(self) -> None:
        """Called about every 10 ms while the engine runs."""
        self._on_tick()
        if (
            self._run_seconds + time.monotonic() - self._resume_time >= self._checkpoint_due_seconds
            or self.live_status.is_due
        ):
            self.engine.stop_anywhere()

    def on_boundary_passed(self) -> None:
        """At a boundary where nothing stops: what is due there."""
        self.save_checkpoint(due=True)
        self.live_status.sample_if_due()

    def update_tip(self) -> None:
        """Note how far the current branch came."""
        self.current_branch.tip = max(self.current_branch.tip, self.position)

    # -- checkpoints

    @property
    def nbytes(self) -> int:
        """Bytes that all checkpoints hold."""
        return self._nbytes

    def __len__(self) -> int:
        return sum(len(branch.checkpoints) for branch in self.branches)

    def postpone_checkpoint(self) -> None:
        """A command begins: the next checkpoint is due once it has run for a while."""
        self._checkpoint_due_seconds = max(
            self._checkpoint_due_seconds, self._run_seconds + CHECKPOINT_INTERVAL_SECONDS
        )

    def save_checkpoint(self, *, due: bool = False, cheap: bool = False, anew: bool = False) -> None:
        """Keep a checkpoint of where the engine stands, unless there is one. ``due``: only where it is time for one;
        ``cheap``: only where the last one took no time to speak of; ``anew``: even where there is one."""
        if (due and self._run_seconds < self._checkpoint_due_seconds) or (
            cheap and self._checkpoint_cost_seconds >= CHECKPOINT_INTERVAL_SECONDS
        ):
            return
        found = self.current_branch.latest_checkpoint(self.position)
        if (due or cheap) and found is not None and self._copy_too_expensive(found):
            self._checkpoint_due_seconds = self._run_seconds + CHECKPOINT_INTERVAL_SECONDS
            return
        if anew or found is None or found.position != self.position:
            started = time.monotonic()
            try:
                self._add_checkpoint(self.engine.checkpoints.save(), self._run_seconds)
            except MemoryError:
                # One that is kept for speed alone is not worth an error: going back runs on from the one before.
                if found is None or not (due or cheap):
                    raise
            self._checkpoint_cost_seconds = time.monotonic() - started
        self._checkpoint_due_seconds = self._run_seconds + max(
            CHECKPOINT_INTERVAL_SECONDS, self._checkpoint_cost_seconds / CHECKPOINT_MAX_TIME_SHARE
        )

    def _copy_too_expensive(self, found: Checkpoint) -> bool:
        """Whether copying what is carried takes longer than its share of the time since a checkpoint, or does not fit:
        then running on from there is better, which needs no memory either."""
        engine = self.engine
        carried = (engine.peek(edge.param) for index in engine.stack for edge in engine.plan.loops[index].edges)
        # What the next iteration gets, and what the one before got.
        nbytes = 2 * sum(value.nbytes for value in carried if isinstance(value, np.ndarray))
        if nbytes < CHECKPOINT_INTERVAL_SECONDS * COPY_BYTES_PER_SECOND:
            return False
        since = self._run_seconds - self.current_branch.checkpoint_seconds[self.current_branch.checkpoints.index(found)]
        return nbytes > self.limit_bytes or since * CHECKPOINT_MAX_TIME_SHARE < nbytes / COPY_BYTES_PER_SECOND

    def _add_checkpoint(self, checkpoint: Checkpoint, seconds: float) -> None:
        if self.current_branch.add_checkpoint(checkpoint, seconds):
            self._nbytes += checkpoint.nbytes
            self._thin_checkpoints(seconds)

    def set_limit(self, nbytes: int) -> None:
        """Bound the memory of checkpoints; the first of each branch always stays."""
        self.limit_bytes = nbytes
        self._thin_checkpoints(max((t for branch in self.branches for t in branch.checkpoint_seconds), default=0.0))

    def _thin_checkpoints(self, now: float) -> None:
        """Drop checkpoints until they fit: first those whose gap is small for their age."""
        while self._nbytes > self.limit_bytes and (dropped := drop_checkpoint(self.branches, now)) is not None:
            self._nbytes -= dropped

    # -- going somewhere

    def go_to(self, target: Position, branch: Branch | None = None, *, anew: bool = False) -> None:
        """Put the engine to a position of a line of time (the current one), whatever breakpoints there are.

        ``anew``: the engine does not stand on the current line.

        Raises:
            UsageError: nothing is known of that time.
            InterruptError, ExecutionError, LimitError: it stopped on the way, and stands there.
        """
        home = self._branch_containing(target, branch)
        found = home.latest_checkpoint(target)
        if found is None:
            raise UsageError("nothing is known of that time")
        if anew or home is not self.current_branch or not found.position <= self.position <= target:
            self.engine.checkpoints.restore(found)
        self.current_branch = home
        run_to(self.engine, target)

    def back(self, count: int = 1) -> int:
        """To the boundary before: of this loop, or from its first one to before the loop; at once over so many of one
        entry of a loop.

        Returns: over how many it went, at least 1.

        Raises:
            UsageError: there is nothing before.
        """
        here = self.position
        if not self.engine.stack and self.last_exited_loop() < 0:
            self.back_node()
            return 1
        around, index = self.current_entry()
        iteration = self.engine.loop_state(index)[0]
        inside = self.boundary_position(around, index, iteration) < here
        most = iteration + inside
        if most == 0:
            self.back_node()
            return 1
        made = min(count, most)
        self.go_to(self.boundary_position(around, index, most - made))
        return made

    def back_node(self) -> None:
        """To the node before in the same body, or to the boundary before its first; an inner loop is one node.

        Raises:
            UsageError: there is nothing before.
        """
        here = self.position
        if self.start_position is not None and here <= self.start_position:
            raise UsageError("this is where the session began; there is nothing before")
        pairs = loop_levels(here)
        start: Position = (0,)
        plan = None
        if pairs:
            enter, iteration = pairs[-1]
            plan = self.engine.plan.loops[self.engine.plan.code[enter].loop]
            if here[-1] > plan.head:
                start = (*here[:-1], plan.head)
            elif iteration > 0:
                start = (*here[:-2], iteration - 1, plan.head)
            else:
                # The first boundary of a loop: the loop itself is before, or what its condition needs.
                start = here[:-2]
        self.go_to(start)
        before = list(nodes_until(self.engine, here))
        # Before the first node of an iteration is the boundary.
        if before and plan is not None and start[-1] == plan.head and before[0][-1] > plan.head:
            del before[0]
        target = before[-1] if before else start
        self.go_to(max(target, self.start_position or target))

    def reverse_search(
        self,
        arm: Callable[[tuple[int, ...]], None],
        disarm: Callable[[], None],
        restored: Callable[[], None],
        test: Callable[[], Hits | None],
    ) -> tuple[Position, Hits] | None:
        """The last position before this at which something is found, piece of time by piece of time; None: at none
        since the beginning. The engine stands somewhere on the way then. See :class:`.reverse_search.ReverseSearch`."""
        here = self.position
        search = ReverseSearch(self.engine, arm, disarm, restored, test, iterations_of_ended_loops(self.engine))
        for checkpoint, end in self._segments_backward(here):
            found = search.find_last_hit(checkpoint, end, here)
            if found is not None or checkpoint.position <= (self.start_position or (0,)):
                return found
        return None

    def _segments_backward(self, position: Position) -> Iterator[tuple[Checkpoint, Position]]:
        """The current line of time up to a position as pieces between checkpoints, the last piece first."""
        end = position
        for branch in self._branch_containing(position).ancestry():
            while (found := branch.latest_checkpoint(end, before=True)) is not None:
                yield found, end
                end = found.position

    def _branch_containing(self, position: Position, branch: Branch | None = None) -> Branch:
        """The branch, from one (the current one) towards the root, that a position lies on."""
        line = (branch or self.current_branch).ancestry()
        return next((one for one in line if one.contains(position)), line[-1])

    def detached_engine(self, position: Position) -> Engine:
        """An engine of its own that stands at a position of the current line of time, also ahead of where that came to.

        Raises:
            UsageError: nothing is known of that time.
            TravelError: the line does not come by it.
        """
        found = self._branch_containing(position).latest_checkpoint(position)
        if found is None:
            raise UsageError("nothing is known of that time")
        engine = Engine(self.engine.plan)
        engine.start(self._inputs)
        engine.checkpoints.restore(found)
        run_to(engine, position)
        return engine

    # -- values of other iterations

    def historical_values(self, frame: Frame) -> HistoricalValues:
        """Values of a frame's loop in other iterations, computed without moving anything."""
        return HistoricalValues(
            lambda position: self._historical_engine.engine_at(self._branch_containing(position), position),
            frame,
            self.position,
            lambda: self.histories.entry_history(frame.index),
        )

    def interrupt(self) -> None:
        """Stop what is under way; from any thread."""
        self.engine.interrupt()
        self._historical_engine.interrupt()

    # -- branches

    def branch_numbered(self, number: int) -> Branch:
        """The branch of a number.

        Raises:
            UsageError: there is none.
        """
        return find_by_number("branch", self.branches, number)

    def edit(self, change: Callable[[], str]) -> Branch:
        """Make a change to the engine's state, which ``change`` tells in words, and begin a branch with it; a further
        one before anything ran belongs to the branch that the first one began."""
        self.update_tip()
        self.save_checkpoint(anew=True)
        told = change()
        self._historical_engine.invalidate()
        checkpoint = self.engine.checkpoints.save()
        branch = self.current_branch
        if branch.fork is not None and branch.fork == branch.tip == checkpoint.position:
            branch.append_edit(told)
        else:
            branch = self._append_branch(
                Branch(self._next_number, branch, checkpoint.position, [told], checkpoint.position)
            )
            self.current_branch = branch
        self._add_checkpoint(checkpoint, 0.0)
        return branch

    def undo(self) -> None:
        """Go to before the last edit of the current branch: to a branch with its other edits, or the one that it left.

        Raises:
            UsageError: there is no edit.
        """
        branch = self.current_branch
        if branch.parent is None or branch.fork is None:
            raise UsageError("nothing was set on this branch")
        before = (
            self._append_branch(branch.without_last_edit(self._next_number))
            if branch.undo_checkpoints
            else branch.parent
        )
        self.go_to(branch.fork, before)

    @property
    def _next_number(self) -> int:
        return max(branch.number for branch in self.branches) + 1

    def _append_branch(self, branch: Branch) -> Branch:
        self.branches.append(branch)
        return branch

    def boundary_pairs(self, first: Branch, second: Branch) -> Iterator[tuple[Boundary, Boundary]]:
        """Pairs of boundaries at the same positions of two branches, from where they parted, up to where either was
        left.

        Where the branches come by different positions (one loop ends earlier) the last pair has what each came to.
        """
        lines = first.ancestry(), second.ancestry()
        common = next(branch for branch in lines[0] if branch in lines[1])
        parted = min(
            branch.fork for line in lines for branch in line if branch.parent is common and branch.fork is not None
        )
        for (here, one), (there, other) in zip(
            self._boundaries(first, parted), self._boundaries(second, parted), strict=False
        ):
            yield one, other
            if here != there or one.ended != other.ended:
                return

    def _boundaries(self, branch: Branch, parted: Position) -> Iterator[tuple[Position, Boundary]]:
        """The boundaries of a line of time from a position to its tip."""
        pieces: list[tuple[Branch, Position, Position]] = []
        end = branch.tip
        for one in branch.ancestry():
            start = parted if one.fork is None else max(one.fork, parted)
            pieces.append((one, start, end))
            if one.fork is None or one.fork <= parted:
                break
            end = one.fork
        engine = Engine(self.engine.plan)
        engine.start(self._inputs)
        for one, start, end in reversed(pieces):
            checkpoint = one.latest_checkpoint(start)
            assert checkpoint is not None  # a branch has one where it begins
            engine.checkpoints.restore(checkpoint)
            run_to(engine, start)
            if engine.stack and engine.pc == engine.plan.loops[engine.stack[-1]].head:
                yield start, read_boundary(Frame(engine, engine.stack[-1]))
            while engine.position < end:
                engine.clear_stops()
                engine.stop_anywhere()
                what, index = engine.resume()
                # Where the next piece begins the edit counts, not what was there before it.
                if what != "boundary" or engine.position > end or (engine.position == end != branch.tip):
                    break
                yield engine.position, read_boundary(Frame(engine, index))
