"""The commands of what is debugged, a model that runs or a recording of a run: what users see of both.

What a debuggee is made of is :mod:`.inside`; what one of the two cannot do it refuses.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, cast

from ...runtime.api_boundary import public_class
from ...runtime.errors import UsageError
from ...runtime.model import Data, LoopTotals, Model
from ..breakpoints.breakpoint import Breakpoint
from ..breakpoints.collection import Breakpoints
from ..expression.tokens import quote
from ..scope.iteration_values import FrameWithHistory
from ..statistics.value_history import Evolution, ValueHistory
from .boundary import Boundary
from .branches import Branch
from .controller import ClosedController, Controller
from .live_status import LiveStatus
from .session_queries import SessionQueries
from .stop import Reason, Stop

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Stops after which a step with a count goes on.
_COUNT_CONTINUES_AFTER = (Reason.NODE, Reason.STEP, Reason.ENTRY, Reason.LOOP_END)


@public_class
class SessionBase(SessionQueries):
    """Something that stands somewhere, and stops where its breakpoints say.

    Every command returns the :class:`Stop` that it came to, and raises a :class:`UsageError` where it is not possible.
    """

    def __init__(self, inside: Controller) -> None:
        #: For our own front ends: what is in there may change with any version.
        self._internals = inside

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the engine and of all checkpoints, as the end of a with block does; every later use is a
        :class:`UsageError`.

        Raises:
            UsageError: another thread moves it.

        >>> with loopdbg.debug(model, inputs) as stepped:
        ...     print(stepped.step().text)
        before iteration 1 of loop 'sqrt'
        >>> stepped.step()
        Traceback (most recent call last):
        loopdbg.UsageError: this session is closed
        """
        if not self.closed:
            with self._internals.session_lock.hold():
                self._internals = cast(Controller, ClosedController())

    @property
    def closed(self) -> bool:
        """True once it was closed.

        >>> session.closed
        False
        """
        return isinstance(self._internals, ClosedController)

    # -- where it stands

    @property
    def model(self) -> Model:
        """The model that runs, or that ran when this was recorded.

        >>> session.model.outputs[0].name
        'root'
        """
        return self._internals.model

    @property
    def inputs(self) -> dict[str, Data]:
        """The inputs of the run by name, as they were given: arrays, or lists of arrays for sequences.

        >>> session.inputs
        {'a': 2.0, 'tol': 1e-06}
        """
        return self._internals.inputs

    @property
    def stop(self) -> Stop:
        """Where this stands and why: what the last command returned.

        >>> session.stop.text
        "before iteration 0 of loop 'sqrt'"
        """
        return self._internals.stop

    @property
    def breakpoints(self) -> Breakpoints:
        """The breakpoints and watchpoints, a sequence in the order in which they were set: ``add``, ``watch``,
        ``delete``, ``clear``.

        >>> session.breakpoints.add("if err < 1e-3").number
        1
        >>> session.continue_().text
        "breakpoint 1 (if err < 1e-3): before iteration 4 of loop 'sqrt'"
        """
        return self._internals.breakpoints

    @property
    def logged(self) -> list[str]:
        """What logpoints printed while ``on_log`` was not set, a line each; clear it once it is read.

        >>> _ = session.breakpoints.add("iter 2", log="x is {x}")
        >>> _ = session.continue_()
        >>> session.logged
        ['x is 1.4166667']
        """
        return self._internals.logged

    @property
    def on_log(self) -> Callable[[str], object] | None:
        """A function that gets each line of a logpoint at once, in the thread that runs this; None: they are kept in
        ``logged``.

        >>> session.on_log = print
        >>> _ = session.breakpoints.add("iter 2", log="x is {x}")
        >>> _ = session.continue_()
        x is 1.4166667
        """
        return self._internals.on_log

    @on_log.setter
    def on_log(self, function: Callable[[str], object] | None) -> None:
        self._internals.on_log = function

    @property
    def done(self) -> bool:
        """True once the model ran to its end.

        >>> session.done, session.continue_().text, session.done
        (False, 'the model ran to its end', True)
        """
        return self._internals.done

    @property
    def running(self) -> bool:
        """True while another thread moves it.

        >>> session.running
        False
        """
        return self._internals.running

    @property
    def outputs(self) -> dict[str, Data] | None:
        """The model's outputs by name once it ran to its end: arrays with the dtypes of ``model.outputs``; None before.

        >>> session.outputs is None
        True
        >>> _ = session.continue_()
        >>> session.outputs["root"], session.outputs["xs"].shape
        (array(1.4142135, dtype=float32), (5,))
        """
        return self._internals.outputs

    @property
    def totals(self) -> list[LoopTotals]:
        """How often each loop ran so far, outer loops before inner ones; ``frame.index`` is the place in this list.

        >>> _ = session.step(3)
        >>> session.totals[0].iterations
        3
        """
        return self._internals.totals

    @property
    def progress(self) -> Mapping[str, int]:
        """The iterations of each loop by its path, as they were lately: for a thread that asks while another one moves
        this. Empty where nothing was told yet.

        >>> all(isinstance(count, int) for count in session.progress.values())
        True
        """
        return self._internals.progress

    @property
    def lately(self) -> Mapping[str, Evolution]:
        """The histories of each loop by its path, as they were lately: for a thread that asks while another one moves
        this. Empty where nothing is known of it.

        >>> dict(session.lately)
        {}
        """
        return self._internals.latest_histories

    @property
    def underway(self) -> Mapping[str, LiveStatus]:
        """Where each loop that runs stood a moment ago, by its path: iteration, what it carries and what it has
        collected; for a thread that asks while another one moves this. Empty where nothing is known of it.

        >>> dict(session.underway)
        {}
        """
        return self._internals.live_status

    @property
    def frame(self) -> FrameWithHistory:
        """The innermost running loop; the main graph where none runs; after the end the loop that ended last.

        >>> _ = session.step()
        >>> session.frame
        <Frame main ▸ sqrt, before iteration 1>
        """
        return self._internals.frame

    @property
    def frames(self) -> Sequence[FrameWithHistory]:
        """All running loops, outermost first, the main graph before them.

        >>> [frame.path for frame in session.frames]
        ['main', 'main ▸ sqrt']
        """
        return self._internals.frames

    def history(self, name: str, entry: int | None = None) -> ValueHistory:
        """What a carried value, or a side of the comparison that decides a loop, was in all iterations so far, as
        float64 numbers: the value itself where it has one element, of a tensor the norm.

        The loop is the innermost running one that has it, or else any; ``entry``: of which of its entries, by number
        from 0 (the last ones are remembered), the present or last one by default.

        Raises:
            UsageError: nothing is known of that value, or of that entry.

        >>> _ = session.step(2)
        >>> session.history("x").values.round(4)
        array([2.    , 1.5   , 1.4167])
        """
        inside = self._internals
        running = [frame.index for frame in (self.frame, *reversed(self.frames)) if frame.loop is not None]
        known: list[str] = []
        for index in dict.fromkeys([*running, *(one.index for one in inside.symbols.loops)]):
            evolution = inside.evolution(index)
            if name in evolution:
                return (evolution if entry is None else inside.evolution(index, entry))[name]
            known += evolution
        have = f"; there is one of {', '.join(map(quote, dict.fromkeys(known)))}" if known else ""
        raise UsageError(f"there is no history of '{name}'{have}")

    def plot(self, name: str | None = None) -> Figure:
        """A Matplotlib figure: a value over iterations, or all that the innermost loop carries, in the entry that ran
        last where those that run carry nothing; a scan output as it is so far.

        Raises:
            UsageError: no running loop has anything of that name that could be drawn.

        >>> _ = session.continue_()
        >>> session.plot("err").savefig(os.devnull, format="png")
        """
        from ..plots import frame_figures as plots

        frames = dict.fromkeys(frame for frame in (self.frame, *reversed(self.frames)) if frame.loop is not None)
        for frame in list(frames)[:-1]:
            with contextlib.suppress(UsageError):
                return plots.plot_over_iterations(frame, name)
        last = list(frames)[-1] if frames else self.frame
        every = self._internals.symbols.loops
        for place in every if name is None and last.loop is not None and not last.loop.back_edges else ():
            evolution = self._internals.evolution(place.index)
            if place.loop.back_edges and len(evolution):
                return plots.plot_all_carried(place.loop, evolution, place.path)
        return plots.plot_over_iterations(last, name)

    # -- on

    def restart(self, inputs: Mapping[str, Data] | None = None) -> Stop:
        """Go back to before iteration 0 of the first loop, on the first branch.

        ``inputs``: those that are to be others from now on; the rest stays as it is. That begins a new run: its
        branches and the history of the old one are forgotten, breakpoints are kept.

        Raises:
            InputError: an input is unknown or does not fit.
            UsageError: a recording is to get other inputs.

        >>> session.restart({"a": 9.0}).text
        "before iteration 0 of loop 'sqrt'"
        >>> _ = session.continue_()
        >>> session.outputs["root"]
        array(3., dtype=float32)
        """
        self._internals.refuse("a restart")

    def step(self, count: int = 1) -> Stop:
        """Go on to the next boundary of this loop, ``count`` times; inner loops run through.

        The last iteration's boundary, where the loop ends, is a stop as well; a step from there leaves the loop and
        goes on to the next boundary of any loop. What stops for another reason (a breakpoint, an error of the model, a
        limit) ends the count. Of a model without loops each step is a node.

        Raises:
            UsageError: the model ran to its end, or ``count`` is below 1.

        >>> session.step().text
        "before iteration 1 of loop 'sqrt'"
        >>> session.step(2).text
        "before iteration 3 of loop 'sqrt'"
        """
        self._internals.refuse("stepping")

    def next_node(self, count: int = 1) -> Stop:
        """Run one node of this body, ``count`` times; an inner loop counts as one node. After the last node: the
        boundary.

        Raises:
            UsageError: the model ran to its end, ``count`` is below 1, or this is a recording.

        >>> session.next_node().text
        "before Div 'Div_1' in iteration 0 of loop 'sqrt'"
        """
        self._internals.refuse("stepping by nodes")

    def into(self) -> Stop:
        """Run one node, but stop at the first boundary of the loop where it is a loop; a recording goes to the next
        boundary of any loop.

        Raises:
            UsageError: the model ran to its end.

        >>> nested = loopdbg.debug("loop_nested.xml", dict(np.load("loop_nested.inputs.npz")))
        >>> while len(nested.frames) < 3:
        ...     _ = nested.into()
        >>> nested.stop.reason
        <Reason.ENTRY: 'entry'>
        """
        self._internals.refuse("stepping")

    def finish(self, count: int = 1) -> Stop:
        """Go on to the end of this loop and stop there; at its end already: to the end of the loop around it.

        ``count``: so many loops, from the inside out.

        Raises:
            UsageError: the model ran to its end, or ``count`` is below 1.

        >>> session.finish().text
        "loop 'sqrt' ends after 5 iterations: the condition is false"
        """
        self._internals.refuse("stepping")

    def until(self, where: int | str) -> Stop:
        """Go on to the boundary of this loop before an iteration ahead, or to its end; to a place in the words of
        ``breakpoints.add``, such as ``line 9``, or to what stops before it.

        Raises:
            UsageError: the iteration is not ahead, no loop is running, or there is no such place.

        >>> session.until(3).text
        "before iteration 3 of loop 'sqrt'"
        >>> session.until("change").text
        "breakpoint 1 (change): before Sub 'Sub_4' in iteration 3 of loop 'sqrt'"
        >>> session.breakpoints
        []
        """
        if isinstance(where, str):
            return self._run_to_location(where)
        return self._run_to_iteration(where)

    def _run_to_iteration(self, iteration: int) -> Stop:
        self._internals.refuse("stepping")

    def _run_to_location(self, place: str) -> Stop:
        made = self.breakpoints.add(place, temporary=True)
        try:
            if reason := self._internals.symbols.unreachable_reason_of_all(made.nodes):
                raise UsageError(f"'{place}' is never reached: {reason}")
            return self.continue_()
        finally:
            # It may have stopped elsewhere.
            if made in self.breakpoints:
                self.breakpoints.delete(made.number)

    def continue_(self) -> Stop:
        """Go on to the next breakpoint, the end of the model, or the first limit.

        Raises:
            UsageError: the model ran to its end already.

        >>> session.continue_().reason
        <Reason.DONE: 'done'>
        """
        self._internals.refuse("going on")

    # -- back

    def back(self, count: int = 1) -> Stop:
        """Go back to the boundary before, up to ``count`` times.

        Raises:
            UsageError: there is nothing before, or ``count`` is below 1.

        >>> _ = session.step(4)
        >>> session.back(2).text
        "before iteration 2 of loop 'sqrt'"
        """
        self._internals.refuse("going back")

    def back_node(self, count: int = 1) -> Stop:
        """Go back by one node of this body, up to ``count`` times; an inner loop counts as one node.

        Raises:
            UsageError: there is nothing before, ``count`` is below 1, or this is a recording.

        >>> _ = session.next_node(3)
        >>> session.back_node(2).text
        "before Div 'Div_1' in iteration 0 of loop 'sqrt'"
        """
        self._internals.refuse("stepping by nodes")

    def goto(self, iteration: int) -> Stop:
        """Go to the boundary of this loop before an iteration, back or ahead; breakpoints in between do not stop it.

        Raises:
            UsageError: no loop is running, or it ends before that iteration (and this stands at its end).

        >>> session.goto(4).text, session.goto(1).text
        ("before iteration 4 of loop 'sqrt'", "before iteration 1 of loop 'sqrt'")
        """
        self._internals.refuse("going to an iteration")

    def reverse_continue(self) -> Stop:
        """Go back to the last stop that a breakpoint or watchpoint would have made before this; without one to where
        it began.

        >>> _ = session.continue_(), session.breakpoints.add("if err > 0.01")
        >>> session.reverse_continue().text
        "breakpoint 1 (if err > 0.01): before iteration 2 of loop 'sqrt'"
        """
        self._internals.refuse("going back")

    # -- what if

    def set(self, target: str, value: Any) -> Branch:
        """Change a value and begin a branch of the timeline with it.

        ``target``: a carried, computed or captured value or a constant by name, ``name[indices]``, ``cond`` or
        ``trip_count``; ``value``: what it becomes, anything that ``np.asarray`` takes. Tensors keep their dtype; a
        carried value may change its shape where the model lets it.

        Raises:
            UsageError: there is no such value, it is not computed yet, or the new one does not fit; the model ran to
                its end; or this is a recording.

        >>> session.set("x", 3.0)
        <Branch 2 from 1: x = 3.0>
        >>> session.frame.carried["x"]
        array(3., dtype=float32)
        """
        self._internals.refuse("changing a value")

    def assign(self, text: str, frame: Any = None) -> Branch:
        """``h = zeros_like(h)``, ``h[0, 3] = 1.5``, ``cond = false``, ``trip_count = 10``: as :meth:`set`, from text.

        ``frame``: the one whose values are meant, the innermost by default.

        Raises:
            UsageError: as for :meth:`set`, or the text is no assignment.

        >>> session.assign("x = x + 1")
        <Branch 2 from 1: x = 3.0>
        """
        self._internals.refuse("changing a value")

    def undo(self) -> Stop:
        """Take back the last change of the current branch: back to where it was made, with all values as they were
        before it. Of several changes made at one place the others stay. The branch is kept, for :meth:`switch`.

        Raises:
            UsageError: nothing was set on this line of time.

        >>> _ = session.set("x", 3.0), session.continue_()
        >>> session.undo().text, session.frame.carried["x"]
        ("before iteration 0 of loop 'sqrt'", array(2., dtype=float32))
        """
        self._internals.refuse("changing a value")

    def save(self, path: str | Path, *, force: bool = False) -> list[Path]:
        """Write a copy of the model's file with what was changed on this branch; returns the files, the model first.

        What a file can say is said: constants that nothing had read, what a loop begins with, its trip count, its
        initial condition. The copy, run from the start, gives the bits of the branch. Data that an ONNX file keeps
        beside it, and an IR's ``.bin``, are copied along. ``force``: overwrite what is there.

        Raises:
            UsageError: nothing was changed, or something that no file can say: the text names it; or the path is of
                another form than the model, is there already, or is the model itself; or this is a recording.
            ModelError: the model's file changed since it was opened, or the copy cannot be written.

        >>> _ = session.set("x", 3.0)
        >>> [path.name for path in session.save(folder / "fixed.onnx")]
        ['fixed.onnx']
        """
        self._internals.refuse("saving a changed model")

    def switch(self, number: int) -> Stop:
        """Go to the last position that was reached on another branch.

        Raises:
            UsageError: there is no such branch.

        >>> _ = session.step(2), session.set("x", 3.0), session.step()
        >>> session.switch(1).text, session.switch(2).text
        ("before iteration 2 of loop 'sqrt'", "before iteration 3 of loop 'sqrt'")
        """
        self._internals.refuse("a branch")

    @property
    def branches(self) -> list[Branch]:
        """The lines of time: the first run, and one more for each edit.

        Raises:
            UsageError: this is a recording.

        >>> _ = session.set("x", 3.0)
        >>> session.branches
        [<Branch 1>, <Branch 2 from 1: x = 3.0>]
        """
        self._internals.refuse("a branch")

    @property
    def branch(self) -> Branch:
        """The line of time that this is on: its ``number``, its ``parent`` and its ``edits``.

        Raises:
            UsageError: this is a recording.

        >>> session.branch.number, session.branch.edits
        (1, [])
        """
        self._internals.refuse("a branch")

    def side_by_side(self, first: Branch, second: Branch) -> Iterator[tuple[Boundary, Boundary]]:
        """The boundaries of two branches in pairs, from where they parted to where either was left.

        Raises:
            UsageError: this is a recording.

        >>> _ = session.step(2), session.set("x", 3.0), session.step(), session.switch(1), session.step()
        >>> for one, other in session.side_by_side(*session.branches):
        ...     print(one.iteration, one.carried["x"], other.carried["x"])
        2 1.4166667 3.0
        3 1.4142157 1.8333334
        """
        self._internals.refuse("a branch")

    # -- how

    def watch(self, text: str) -> Breakpoint:
        """Set a watchpoint, which stops where a value differs from that of the boundary before: ``h``,
        ``err crosses 1e-3``, ``x settles 1e-6``, ``v shape``, ``h nan``, ``delta(x) sign``.

        Raises:
            UsageError: the expression is wrong.

        >>> session.watch("err crosses 1e-3").number
        1
        >>> session.continue_().text
        "watchpoint 1 (err crosses 1e-3); err: 0.0024510622 → 2.1457672e-06: before iteration 4 of loop 'sqrt'"
        """
        return self.breakpoints.watch(text)

    def interrupt(self) -> None:
        """Stop what is under way at the next boundary; from any thread. Without anything under way it does nothing.

        >>> session.interrupt()
        """
        self._internals.session_lock.interrupt()

    def _repeat(self, count: int, move: Callable[[], Stop], *, back: bool = False) -> Stop:
        return self._repeat_batched(count, lambda left: (move(), 1), back=back)

    def _repeat_batched(self, count: int, move: Callable[[int], tuple[Stop, int]], *, back: bool = False) -> Stop:
        """Move until ``count`` is made up; ``move`` gets what is left, and returns how much of it it made."""
        if count < 1:
            raise UsageError(f"{count} times makes no sense; give 1 or more")
        while True:
            stop, made = move(count)
            count -= made
            on = (
                stop.reason in _COUNT_CONTINUES_AFTER
                and not self.done
                and not (back and self._internals.is_at_beginning)
            )
            if count <= 0 or not on:
                return stop
