"""What all commands of a session share: running up to a stop, checkpoints on the way, and going to a position."""

from __future__ import annotations

import time
from collections.abc import Mapping

from ...runtime import frame as runtime
from ...runtime.engine.checkpoints import Checkpoint
from ...runtime.engine.engine import Engine
from ...runtime.errors import ExecutionError, InterruptError, LimitError, LoopdbgError, UsageError
from ...runtime.model import Data, Model
from ..breakpoints.arming import Arming
from ..breakpoints.breakpoint import MAIN_GRAPH, Kind
from ..breakpoints.collection import Breakpoint
from ..text import printable
from . import goals
from .engine_places import EnginePlaces
from .frames import Frame
from .history import History, Past
from .standing import Standing, boundary_stop, gave_nan, interrupted, loop_name
from .stop import Reason, Stop
from .timeline import Branch, Timeline
from .travel import Position, approach, nodes_until, run_to

#: Seconds of execution between checkpoints; more where taking one is slow.
CHECKPOINT_SECONDS = 0.01
#: At most this part of the time goes into checkpoints.
CHECKPOINT_SHARE = 0.1


class Running(Standing):
    """An engine that runs from stop to stop, and can be put to any position that it was at."""

    places: EnginePlaces

    def __init__(self, model: Model, given: Mapping[int, Data], max_iterations: int | None, attended: bool) -> None:
        self._engine = Engine(model.plan)
        super().__init__(model, EnginePlaces(self._engine))
        self.max_iterations = max_iterations
        self.attended = attended
        self.timeline = Timeline()
        self._given = given
        self._arming = Arming(self._engine, self._test_at)
        self._past = Past(model, given)
        self._outputs: dict[str, Data] | None = None
        self._last_loop = -1
        self._entry: Position | None = None
        #: Seconds of execution so far, those when a checkpoint is due, and what the last one took.
        self._seconds = 0.0
        self._due = 0.0
        self._cost = 0.0
        self._resumed = 0.0

    # -- where it stands

    @property
    def running(self) -> bool:
        """True while another thread runs a step."""
        return bool(self._engine.running)

    @property
    def frame(self) -> Frame:
        """The innermost running loop; the main graph where none runs; after the end the loop that ended last."""
        stack = self._engine.stack
        if stack:
            return Frame(self, stack[-1])
        return Frame(self, self._last_loop if self.done else -1)

    @property
    def frames(self) -> list[Frame]:
        """All running loops, outermost first, the main graph before them."""
        return [Frame(self, index) for index in (-1, *self._engine.stack)]

    @property
    def position(self) -> Position:
        """The moment at which it stands; positions of one branch compare in the order of time."""
        position: Position = self._engine.position
        return position

    @property
    def moment(self) -> int:
        """Grows whenever the session moves, or is edited."""
        return self._engine.moment

    def history(self, frame: runtime.Frame) -> History:
        """Values of a frame's loop in other iterations, computed without moving the session."""
        return History(self._past, self.timeline, frame, self.position)

    def _ask_to_stop(self) -> None:
        self._engine.interrupt()
        self._past.interrupt()

    def _forget_to_stop(self) -> None:
        self._engine.clear_interrupt()

    def _at_beginning(self) -> bool:
        return self.position == self._entry

    # -- running on

    def _advance(self, goal: goals.Goal, *, quietly: bool = False, raising: bool = False) -> Stop:
        """Run on until a goal is reached or a breakpoint hits. ``quietly``: whatever breakpoints there are;
        ``raising``: an error of the model is raised, not returned as a stop."""
        engine = self._engine
        self._outputs = None
        self._due = max(self._due, self._seconds + CHECKPOINT_SECONDS)
        hits: list[Breakpoint] = []
        try:
            while True:
                engine.clear_stops()
                self._refuse_endless(goal)
                goal.arm(engine)
                self._arming.arm(() if quietly else self.breakpoints)
                what, index = self._resume(raising)
                if what == "end":
                    # Values of the main graph are tested once they are there; the last ones are there now.
                    hits = [] if quietly else self._hits(Frame(self, MAIN_GRAPH))
                    break
                if what in ("limit", "interrupt", "error"):
                    break
                hits = [] if quietly else self._hits_here()
                if hits or goal.reached(engine, what, index):
                    break
                if what == "boundary" and self._seconds >= self._due:
                    self._save()
        finally:
            self._arming.disarm()
            self._allow_endless()
        if hits:
            self.stop = self._hit_stop(hits)
            self._outputs = None
        elif what in ("node", "boundary"):
            self.stop = self._explain(what)
        self.timeline.reached(self.position)
        if self.places.at_boundary() and self._cost < CHECKPOINT_SECONDS:
            self._save()
        return self.stop

    def _resume(self, raising: bool) -> tuple[str, int]:
        """Run the engine once; what ends a step whatever its goal is becomes the stop here."""
        engine = self._engine
        self._resumed = time.monotonic()
        engine.on_tick = self._tick
        try:
            what, index = engine.resume()
        except LimitError:
            # Not an error of the model: a command that is refused.
            self.stop = self._where()
            self.timeline.reached(self.position)
            raise
        except LoopdbgError as error:
            self.stop = Stop(Reason.ERROR, str(error))
            if raising:
                raise
            return "error", -1
        finally:
            engine.on_tick = None
            engine.clear_stops()
            self._seconds += time.monotonic() - self._resumed
        if what in ("end", "limit", "interrupt"):
            self.stop = self._explain(what)
        return ("boundary" if what == "predicate" else what), index

    def _refuse_endless(self, goal: goals.Goal) -> None:
        """Let the engine refuse loops that nothing ends, where nobody could end them either. One that runs already may
        go on where the goal, or a breakpoint that waits for nothing else, stops it for certain."""
        if self.attended or self.max_iterations is not None:
            return
        bounded = not isinstance(goal, goals.Nothing | goals.End)
        running = [self.places.loops[index] for index in self._engine.stack]
        ended = any(plan.endless_from >= 0 and (bounded or self._surely_stops(plan.index)) for plan in running)
        self._engine.set_limits(None, not ended)

    def _allow_endless(self) -> None:
        """Let what goes to a position run through any loop."""
        if not self.attended and self.max_iterations is None:
            self._engine.set_limits(None)

    def _surely_stops(self, index: int) -> bool:
        """True where a breakpoint stops in a running loop whatever happens."""
        now = self._engine.loop_state(index)[0]
        for one in self.breakpoints:
            if not one.enabled or one.condition is not None or one.log is not None or one.ignore:
                continue
            if index in one.loops and one.kind is Kind.BOUNDARY:
                return True
            here = one.kind is Kind.ITERATION and one.loops == (index,) and len(one.iterations) == 1
            if here and one.iterations[0] > now:
                return True
        return False

    def _tick(self) -> None:
        """Called about every 10 ms while the engine runs."""
        if self._seconds + time.monotonic() - self._resumed >= self._due:
            self._engine.stop_anywhere()

    def _save(self, always: bool = False) -> None:
        """Keep a checkpoint of where the engine stands, unless there is one (``always``: even then)."""
        if always or not self.timeline.has(self.position):
            started = time.monotonic()
            self.timeline.add(self._engine.checkpoints.take(), self._seconds)
            self._cost = time.monotonic() - started
        self._due = self._seconds + max(CHECKPOINT_SECONDS, self._cost / CHECKPOINT_SHARE)

    # -- breakpoints

    def add(self, breakpoint_: Breakpoint) -> None:
        """Let the engine look for a breakpoint from now on."""
        self._arming.add(breakpoint_)

    def remove(self, breakpoint_: Breakpoint) -> None:
        """Let it look no more."""
        self._arming.remove(breakpoint_)

    def is_slow(self, breakpoint_: Breakpoint) -> bool:
        """True where a breakpoint is tested in Python at every boundary of some loop, which takes microseconds."""
        return self._arming.is_slow(breakpoint_)

    def _test_at(self, breakpoint_: Breakpoint, index: int) -> bool:
        """Whether a breakpoint hits at the boundary that the engine is at, in passing."""
        return breakpoint_.holds(Frame(self, index))

    def _hits_here(self, *, silently: bool = False) -> list[Breakpoint]:
        """The breakpoints that stop where the engine stands."""
        position = -1 if self.places.at_boundary() else self._engine.pc
        return self._hits(self.frame, position, silently=silently)

    def _to_first_nan(self, breakpoint_: Breakpoint) -> str:
        """From the boundary that showed a NaN to right after the node that made it; says which, "" if none did."""
        here = self.position
        iteration = here[-2]
        if iteration == 0:
            return ""
        known = breakpoint_.memory.get(self.frame.index)
        self._go_to((*here[:-2], iteration - 1, here[-1]))
        maker = None
        for position in nodes_until(self._engine, here):
            frame = self.frame
            if maker is not None and breakpoint_.made_nan(frame, maker):
                break
            maker = self.places.node_at(position[-1])
        if maker is None:
            self._go_to(here)
            return ""
        if self.position == here and not breakpoint_.made_nan(self.frame, maker):
            return ""
        if known is not None:
            breakpoint_.seen(known)
        return gave_nan(maker, iteration - 1, self.frame.loop)

    # -- going to a position

    def _go_to(self, target: Position, branch: Branch | None = None, *, anew: bool = False) -> None:
        """Put the engine to a position of a line of time (the current one), whatever breakpoints there are.

        ``anew``: the engine does not stand on the current line.

        Raises:
            InterruptError, ExecutionError, LimitError: it stopped on the way, and stands there.
        """
        home = self.timeline.at(target, branch)
        found = home.latest(target)
        if found is None:
            raise UsageError("nothing is known of that time")
        if anew or home is not self.timeline.current or not found.position <= self.position <= target:
            self._engine.checkpoints.restore(found)
        self.timeline.current = home
        self._outputs = None
        run_to(self._engine, target)
        self.prime(*self.breakpoints)

    def prime(self, *breakpoints: Breakpoint) -> None:
        """Tell breakpoints that compare with the boundary before where the engine stands now, and those about the main
        graph what there is of it."""
        boundary = self.places.at_boundary()
        for breakpoint_ in breakpoints:
            if breakpoint_.in_main:
                breakpoint_.prime(Frame(self, MAIN_GRAPH))
            elif boundary:
                breakpoint_.prime(self.frame)

    def _last_hit(
        self, checkpoint: Checkpoint, end: Position, here: Position
    ) -> tuple[Position, list[tuple[Breakpoint, str, str]]] | None:
        """The last position after a checkpoint and up to ``end``, but before ``here``, at which breakpoints hit, with
        what changed there or why they could not be tested."""
        engine = self._engine
        engine.checkpoints.restore(checkpoint)
        self.prime(*self.breakpoints)
        found = None
        try:
            while engine.position < end:
                engine.clear_stops()
                trap = approach(engine, end)
                self._arming.arm(self.breakpoints, () if trap is None else (trap,))
                what, _ = engine.resume()
                if what == "interrupt":
                    raise InterruptError("interrupted while going back")
                if what == "predicate":
                    what = "boundary"
                if what in ("node", "boundary") and engine.position < here:
                    hits = self._hits_here(silently=True)
                    if hits:
                        found = engine.position, [(b, b.change, b.failure) for b in hits]
        finally:
            engine.clear_stops()
            self._arming.disarm()
        return found

    def _travel(self, target: Position, branch: Branch | None = None) -> Stop:
        """The same as a command: what it meets becomes the stop."""
        self.timeline.reached(self.position)
        try:
            self._go_to(target, branch)
        except InterruptError:
            self.stop = self._explain("interrupt")
        except ExecutionError as error:
            self.stop = Stop(Reason.ERROR, str(error))
        else:
            self.stop = self._where()
        return self.stop

    # -- in words

    def _where(self) -> Stop:
        """The stop for a position that was reached by travelling."""
        if self._engine.pc == len(self._engine.plan.code) - 1:
            return self._explain("end")
        return self._explain("boundary" if self.places.at_boundary() else "node")

    def _explain(self, what: str) -> Stop:
        stack = self._engine.stack
        if what == "end":
            self._outputs = self.model.results(self._engine)
            self._last_loop = self.places.last_loop()
            text = "the model ran to its end" if self.model.loops else "the model ran to its end; it has no loop"
            return Stop(Reason.DONE, text)
        if what == "node":
            node = self.places.node_at(self._engine.pc)
            text = f"before {node.op_type} '{printable(node.name)}'"
            if stack:
                text += f" in iteration {self.frame.iteration} of {loop_name(self.frame.loop)}"
            return Stop(Reason.NODE, text if self.model.loops else f"{text}; the model has no loop")
        frame = self.frame
        if what == "limit":
            return Stop(Reason.LIMIT, f"{loop_name(frame.loop)} reached the limit of {frame.iteration} iterations")
        return interrupted(frame) if what == "interrupt" else boundary_stop(frame)
