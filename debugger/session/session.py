"""Debugging sessions: stepping a run or a recording forward and backward, edits and branches.

A session has one :class:`.controller.Controller`, of a live run (:mod:`.live_controller`) or of a recording
(:mod:`..trace.replay_controller`). Every step runs until a stop and returns a :class:`Stop` with its reason. A session
may be driven from any thread, by one at a time; :meth:`Session.interrupt` may be called from any thread at any time.

Some commands are implemented in packages that this one does not import: see :mod:`...runtime.lazy_function_registry`.
"""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, cast

from ...runtime.api_boundary import public, public_class
from ...runtime.errors import UsageError
from ...runtime.lazy_function_registry import load_plugin
from ...runtime.model import Data, LoopTotals, Model, Run, load
from ..breakpoints.breakpoint import Breakpoint
from ..breakpoints.collection import Breakpoints
from ..breakpoints.location_parser import MAX_ITERATION
from ..expression.tokens import quote
from ..frame_state import read_frame
from ..scope.other_iterations import IterationValues
from ..statistics.value_history import Evolution, ValueHistory
from .boundary import Boundary
from .controller import ClosedController, Controller
from .live_controller import LiveController
from .live_status import LiveStatus
from .session_frames import SessionFrame
from .source_listing import SourceListing, list_source
from .stop import Reason, Stop
from .timeline import Branch

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..termination.explanation import Why
    from .branch_difference import BranchDifference
    from .editor import StateEditor

#: Stops after which a step with a count continues.
_COUNT_CONTINUES_AFTER = (Reason.NODE, Reason.STEP, Reason.ENTRY, Reason.LOOP_END)


@public_class
class Session:
    """A model run under the debugger; it begins stopped before iteration 0 of the first loop.

    Every command returns the :class:`Stop` that it reached, and raises :class:`UsageError` if it is not possible.

    Iterating over it yields the frame at this stop and after each step, to the end of the model or an error.

    Args:
        inputs: by name, anything that ``np.asarray`` converts without loss; they are copied.
        max_iterations: the number of iterations of a loop after which a command stops; None: no limit.
        attended: False if no user can interrupt an infinite loop, so that running into one is an error.

    Raises:
        InputError: inputs that do not fit the signature.
        UnsupportedError: an operator that nothing can run.
        ExecutionError: a node failed before the first loop.

    >>> session = loopdbg.Session(loopdbg.load("newton_sqrt.onnx"), {"a": 2.0, "tol": 1e-6})
    >>> [frame.iteration for frame in session]
    [0, 1, 2, 3, 4, 5]
    """

    def __init__(
        self,
        model: Model,
        inputs: Mapping[str, Data] | None = None,
        *,
        max_iterations: int | None = None,
        attended: bool = True,
    ) -> None:
        #: For front ends: positions, symbols, readers of frames. It may change with any version.
        self.controller: Controller = LiveController(model, inputs or {}, max_iterations, attended)
        self.restart()

    def __repr__(self) -> str:
        return "<Session, closed>" if self.closed else f"<Session {self.model.name}: {self.stop.text}>"

    def __iter__(self) -> Iterator[SessionFrame]:
        while not self.done:
            yield self.frame
            if self.step().reason in (Reason.ERROR, Reason.INTERRUPT, Reason.LIMIT):
                return

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Release the engine and all checkpoints, as the end of a with block does; every later use raises
        :class:`UsageError`.

        Raises:
            UsageError: another thread runs a command.

        >>> with loopdbg.debug(model, inputs) as stepped:
        ...     print(stepped.step().text)
        before iteration 1 of loop 'sqrt'
        >>> stepped.step()
        Traceback (most recent call last):
        loopdbg.UsageError: this session is closed
        """
        if not self.closed:
            with self.controller.session_lock.hold():
                self.controller = cast(Controller, ClosedController())

    @property
    def closed(self) -> bool:
        """True after :meth:`close`.

        >>> session.closed
        False
        """
        return isinstance(self.controller, ClosedController)

    # -- position

    @property
    def max_iterations(self) -> int | None:
        """The number of iterations of a loop after which a command stops; None: no limit. Continuing from such a stop
        allows as many again.

        >>> session = loopdbg.debug("newton_sqrt.onnx", {"a": 2.0, "tol": 1e-6}, max_iterations=3)
        >>> session.continue_().text
        "loop 'sqrt' reached the limit of 3 iterations"
        """
        return self.controller.max_iterations

    @max_iterations.setter
    def max_iterations(self, limit: int | None) -> None:
        self.controller.set_max_iterations(limit)

    @property
    def model(self) -> Model:
        """The model of this run or recording.

        >>> session.model.outputs[0].name
        'root'
        """
        return self.controller.model

    @property
    def inputs(self) -> dict[str, Data]:
        """The inputs of the run by name, as the caller passed them: arrays, or lists of arrays for sequences.

        >>> session.inputs
        {'a': 2.0, 'tol': 1e-06}
        """
        return self.controller.inputs

    @property
    def stop(self) -> Stop:
        """The current stop: the result of the last command.

        >>> session.stop.text
        "before iteration 0 of loop 'sqrt'"
        """
        return self.controller.stop

    @property
    def breakpoints(self) -> Breakpoints:
        """The breakpoints and watchpoints, a sequence in order of creation: ``add``, ``watch``, ``delete``, ``clear``.

        >>> session.breakpoints.add("if err < 1e-3").number
        1
        >>> session.continue_().text
        "breakpoint 1 (if err < 1e-3): before iteration 4 of loop 'sqrt'"
        """
        return self.controller.breakpoints

    @property
    def logged(self) -> list[str]:
        """Lines of logpoints, collected while ``on_log`` is not set; the reader clears the list.

        >>> _ = session.breakpoints.add("iter 2", log="x is {x}")
        >>> _ = session.continue_()
        >>> session.logged
        ['x is 1.4166667']
        """
        return self.controller.logged

    @property
    def on_log(self) -> Callable[[str], object] | None:
        """A function that gets each line of a logpoint at once, in the thread of the command; None: they are appended
        to ``logged``.

        >>> session.on_log = print
        >>> _ = session.breakpoints.add("iter 2", log="x is {x}")
        >>> _ = session.continue_()
        x is 1.4166667
        """
        return self.controller.on_log

    @on_log.setter
    def on_log(self, function: Callable[[str], object] | None) -> None:
        self.controller.on_log = function

    @property
    def done(self) -> bool:
        """True after the model ran to its end.

        >>> session.done, session.continue_().text, session.done
        (False, 'the model ran to its end', True)
        """
        return self.controller.stop.done

    @property
    def running(self) -> bool:
        """True while another thread runs a command.

        >>> session.running
        False
        """
        return self.controller.running

    @property
    def outputs(self) -> dict[str, Data] | None:
        """The model's outputs by name after its end: arrays with the dtypes of ``model.outputs``; None before.

        >>> session.outputs is None
        True
        >>> _ = session.continue_()
        >>> session.outputs["root"], session.outputs["xs"].shape
        (array(1.4142135, dtype=float32), (5,))
        """
        return self.controller.outputs

    @property
    def totals(self) -> list[LoopTotals]:
        """Iteration counts of each loop so far, outer loops before inner ones; indexed by ``frame.index``.

        >>> _ = session.step(3)
        >>> session.totals[0].iterations
        3
        """
        return self.controller.totals

    @property
    def progress(self) -> Mapping[str, int]:
        """Recent iteration counts of each loop by its path, for other threads while a command runs. Empty before the
        first sample.

        >>> all(isinstance(count, int) for count in session.progress.values())
        True
        """
        return self.controller.progress

    @property
    def lately(self) -> Mapping[str, Evolution]:
        """Recent value histories of each loop by its path, for other threads while a command runs. Empty before the
        first sample.

        >>> dict(session.lately)
        {}
        """
        return self.controller.latest_histories

    @property
    def underway(self) -> Mapping[str, LiveStatus]:
        """Recent status of each running loop by its path: iteration, carried values and scan outputs, for other threads
        while a command runs. Empty before the first sample.

        >>> dict(session.underway)
        {}
        """
        return self.controller.live_status

    @property
    def frame(self) -> SessionFrame:
        """The frame of the innermost running loop, else of the main graph; after the end of the loop that ended last.

        >>> _ = session.step()
        >>> session.frame
        <Frame main ▸ sqrt, before iteration 1>
        """
        return SessionFrame(self.controller.frame)

    @property
    def frames(self) -> list[SessionFrame]:
        """The frames of the main graph and of all running loops, outermost first.

        >>> [frame.path for frame in session.frames]
        ['main', 'main ▸ sqrt']
        """
        return [SessionFrame(reader) for reader in self.controller.frames]

    def history(self, name: str, entry: int | None = None) -> ValueHistory:
        """The history of a carried value, or of a side of the loop's comparison, over all iterations so far, as
        float64 numbers: the value itself if it has one element, the norm of a tensor.

        The loop is the innermost running one that has the value, else any.

        Args:
            entry: the number of the loop's entry from 0 (recent ones are stored); default: the current or last one.

        Raises:
            UsageError: there is no history of that value or entry.

        >>> _ = session.step(2)
        >>> session.history("x").values.round(4)
        array([2.    , 1.5   , 1.4167])
        """
        controller = self.controller
        running = [frame.index for frame in (controller.frame, *reversed(controller.frames)) if frame.loop]
        names: list[str] = []
        for index in dict.fromkeys([*running, *(symbol.index for symbol in controller.symbols.loops)]):
            evolution = controller.evolution(index)
            if name in evolution:
                return (evolution if entry is None else controller.evolution(index, entry))[name]
            names += evolution
        available = f"; there is one of {', '.join(map(quote, dict.fromkeys(names)))}" if names else ""
        raise UsageError(f"there is no history of '{name}'{available}", name=name)

    def plot(self, name: str | None = None) -> Figure:
        """A Matplotlib figure: a value over iterations, or all carried values of the innermost loop, of the last entry
        if no running loop carries values; a scan output as far as it is collected.

        Raises:
            UsageError: no running loop has a value of that name that can be plotted.

        >>> _ = session.continue_()
        >>> session.plot("err").savefig(os.devnull, format="png")
        """
        from ..plots import frame_figures as plots

        innermost, frames_ = self.controller.frame, self.controller.frames
        frames = dict.fromkeys(frame for frame in (innermost, *reversed(frames_)) if frame.loop is not None)
        for frame in list(frames)[:-1]:
            with contextlib.suppress(UsageError):
                return plots.plot_over_iterations(frame, name)
        frame_ = list(frames)[-1] if frames else innermost
        symbols = self.controller.symbols.loops
        for symbol in symbols if name is None and frame_.loop is not None and not frame_.loop.back_edges else ():
            evolution = self.controller.evolution(symbol.index)
            if symbol.loop.back_edges and len(evolution):
                return plots.plot_all_carried(symbol.loop, evolution, symbol.path)
        return plots.plot_over_iterations(frame_, name)

    # -- forward

    def restart(self, inputs: Mapping[str, Data] | None = None) -> Stop:
        """Go back to before iteration 0 of the first loop, on the first branch.

        Args:
            inputs: inputs to replace; the others stay. This begins a new run: branches and history of the old one are
                deleted, breakpoints are kept.

        Raises:
            InputError: an input is unknown or does not fit.
            UsageError: this is a recording, whose inputs are fixed.

        >>> session.restart({"a": 9.0}).text
        "before iteration 0 of loop 'sqrt'"
        >>> _ = session.continue_()
        >>> session.outputs["root"]
        array(3., dtype=float32)
        """
        return self._command(lambda controller: controller.restart(inputs))

    def step(self, count: int = 1) -> Stop:
        """Run to the next boundary of this loop, ``count`` times; inner loops run completely.

        The boundary at the loop's end is a stop as well; a step from there leaves the loop and runs to the next
        boundary of any loop. Any other stop (a breakpoint, an error of the model, a limit) ends the count. In a model
        without loops each step is a node.

        Raises:
            UsageError: the model ran to its end, or ``count`` is below 1.

        >>> session.step().text
        "before iteration 1 of loop 'sqrt'"
        >>> session.step(2).text
        "before iteration 3 of loop 'sqrt'"
        """
        return self._repeat(count, lambda controller, _: (controller.step(), 1))

    def next_node(self, count: int = 1) -> Stop:
        """Run one node of this body, ``count`` times; an inner loop counts as one node. The boundary follows the last
        node.

        Raises:
            UsageError: the model ran to its end, ``count`` is below 1, or this is a recording.

        >>> session.next_node().text
        "before Div 'Div_1' in iteration 0 of loop 'sqrt'"
        """
        return self._repeat(count, lambda controller, _: (controller.next_node(), 1))

    def into(self) -> Stop:
        """Run one node; if it is a loop, stop at its first boundary. A recording goes to the next boundary of any loop.

        Raises:
            UsageError: the model ran to its end.

        >>> nested = loopdbg.debug("loop_nested.xml", dict(np.load("loop_nested.inputs.npz")))
        >>> while len(nested.frames) < 3:
        ...     _ = nested.into()
        >>> nested.stop.reason
        <Reason.ENTRY: 'entry'>
        """
        return self._command(lambda controller: controller.into())

    def finish(self, count: int = 1) -> Stop:
        """Run to the end of this loop; from there, to the end of the enclosing loop.

        Args:
            count: number of loops to finish, innermost first.

        Raises:
            UsageError: the model ran to its end, or ``count`` is below 1.

        >>> session.finish().text
        "loop 'sqrt' ends after 5 iterations: the condition is false"
        """
        return self._repeat(count, lambda controller, _: (controller.finish(), 1))

    def until(self, where: int | str) -> Stop:
        """Run to the boundary of this loop before a later iteration, or to its end; or to a location in the syntax of
        ``breakpoints.add``, such as ``line 9``, or an earlier stop.

        Raises:
            UsageError: the iteration is not ahead, no loop is running, or there is no such location.

        >>> session.until(3).text
        "before iteration 3 of loop 'sqrt'"
        >>> session.until("change").text
        "breakpoint 1 (change): before Sub 'Sub_4' in iteration 3 of loop 'sqrt'"
        >>> session.breakpoints
        []
        """
        if isinstance(where, str):
            return self._run_to_location(where)
        iteration = operator.index(where)
        if iteration > MAX_ITERATION:
            raise UsageError(f"there is no iteration {iteration}", iteration=iteration)
        return self._command(lambda controller: controller.run_to_iteration(iteration))

    def _run_to_location(self, location: str) -> Stop:
        breakpoint_ = self.breakpoints.add(location, temporary=True)
        try:
            if reason := self.controller.symbols.unreachable_reason_of_all(breakpoint_.nodes):
                raise UsageError(f"'{location}' is never reached: {reason}", name=location)
            return self.continue_()
        finally:
            # It may have stopped elsewhere.
            if breakpoint_ in self.breakpoints:
                self.breakpoints.delete(breakpoint_.number)

    def continue_(self) -> Stop:
        """Run to the next breakpoint, the end of the model, or the first limit.

        Raises:
            UsageError: the model ran to its end already.

        >>> session.continue_().reason
        <Reason.DONE: 'done'>
        """
        return self._command(lambda controller: controller.continue_())

    # -- backward

    def back(self, count: int = 1) -> Stop:
        """Go back to the previous boundary, up to ``count`` times.

        Raises:
            UsageError: there is nothing before, or ``count`` is below 1.

        >>> _ = session.step(4)
        >>> session.back(2).text
        "before iteration 2 of loop 'sqrt'"
        """
        return self._repeat(count, lambda controller, remaining: controller.back(remaining), back=True)

    def back_node(self, count: int = 1) -> Stop:
        """Go back by one node of this body, up to ``count`` times; an inner loop counts as one node.

        Raises:
            UsageError: there is nothing before, ``count`` is below 1, or this is a recording.

        >>> _ = session.next_node(3)
        >>> session.back_node(2).text
        "before Div 'Div_1' in iteration 0 of loop 'sqrt'"
        """
        return self._repeat(count, lambda controller, _: (controller.back_node(), 1), back=True)

    def goto(self, iteration: int) -> Stop:
        """Go to the boundary of this loop before an iteration, back or ahead; ignores breakpoints in between.

        Raises:
            UsageError: no loop is running, or it ends before that iteration (then the session is at the loop's end).

        >>> session.goto(4).text, session.goto(1).text
        ("before iteration 4 of loop 'sqrt'", "before iteration 1 of loop 'sqrt'")
        """
        iteration = operator.index(iteration)
        if not 0 <= iteration <= MAX_ITERATION:
            raise UsageError(f"there is no iteration {iteration}", iteration=iteration)
        return self._command(lambda controller: controller.go_to_iteration(iteration))

    def reverse_continue(self) -> Stop:
        """Go back to the last earlier hit of a breakpoint or watchpoint; without one, to the start of the session.

        >>> _ = session.continue_(), session.breakpoints.add("if err > 0.01")
        >>> session.reverse_continue().text
        "breakpoint 1 (if err > 0.01): before iteration 2 of loop 'sqrt'"
        """
        return self._command(lambda controller: controller.reverse_continue())

    # -- edits and branches

    def set(self, target: str, value: Any) -> Branch:
        """Change a value and fork a branch of the timeline.

        Args:
            target: a carried, computed or captured value or a constant by name, ``name[indices]``, ``cond`` or
                ``trip_count``.
            value: anything that ``np.asarray`` takes. Tensors keep their dtype; a carried value may change its shape if
                the model allows it.

        Raises:
            UsageError: there is no such value, it is not computed yet, or the new one does not fit; the model ran to
                its end; or this is a recording.

        >>> session.set("x", 3.0)
        <Branch 2 from 1: x = 3.0>
        >>> session.frame.carried["x"]
        array(3., dtype=float32)
        """
        from .editor import normalize_value

        new = normalize_value(value)
        return self._edit(None, lambda editor: editor.set(target, new))

    def assign(self, text: str, frame: Any = None) -> Branch:
        """Set a value from text: ``h = zeros_like(h)``, ``h[0, 3] = 1.5``, ``cond = false``, ``trip_count = 10``.

        Args:
            frame: the frame of the values, the innermost by default.

        Raises:
            UsageError: as for :meth:`set`, or the text is no assignment.

        >>> session.assign("x = x + 1")
        <Branch 2 from 1: x = 3.0>
        """
        return self._edit(frame, lambda editor: editor.assign(text))

    def undo(self) -> Stop:
        """Undo the last edit of the current branch: go back to its position with the values before it. Other edits at
        the same position stay. The branch is kept for :meth:`switch`.

        Raises:
            UsageError: the branch has no edits.

        >>> _ = session.set("x", 3.0), session.continue_()
        >>> session.undo().text, session.frame.carried["x"]
        ("before iteration 0 of loop 'sqrt'", array(2., dtype=float32))
        """
        return self._command(lambda controller: controller.undo())

    def save(self, path: str | Path, *, force: bool = False) -> list[Path]:
        """Write a copy of the model's file with the edits of this branch; returns the files, the model first.

        A file can hold edits of unread constants, initial values of loops, trip counts and initial conditions. The
        copy, run from the start, is bit-identical to the branch. External data of an ONNX file, and an IR's ``.bin``,
        are copied as well.

        Args:
            force: overwrite existing files.

        Raises:
            UsageError: there is no edit, or one that a file cannot express, named in the message; or the path has
                another format than the model, exists already, or is the model itself; or this is a recording.
            ModelError: the model's file changed since it was opened, or the copy cannot be written.

        >>> _ = session.set("x", 3.0)
        >>> [path.name for path in session.save(folder / "fixed.onnx")]
        ['fixed.onnx']
        """
        return self.controller.save(Path(path), force)

    def switch(self, number: int) -> Stop:
        """Go to the last position of another branch.

        Raises:
            UsageError: there is no such branch.

        >>> _ = session.step(2), session.set("x", 3.0), session.step()
        >>> session.switch(1).text, session.switch(2).text
        ("before iteration 2 of loop 'sqrt'", "before iteration 3 of loop 'sqrt'")
        """
        return self._command(lambda controller: controller.switch(number))

    @property
    def branches(self) -> list[Branch]:
        """The branches: the first run, and one for each edit.

        Raises:
            UsageError: this is a recording.

        >>> _ = session.set("x", 3.0)
        >>> session.branches
        [<Branch 1>, <Branch 2 from 1: x = 3.0>]
        """
        return list(self.controller.branches)

    @property
    def branch(self) -> Branch:
        """The current branch: its ``number``, its ``parent`` and its ``edits``.

        Raises:
            UsageError: this is a recording.

        >>> session.branch.number, session.branch.edits
        (1, [])
        """
        return self.controller.branch

    def side_by_side(self, first: Branch, second: Branch) -> Iterator[tuple[Boundary, Boundary]]:
        """The boundaries of two branches in pairs, from their fork to the first tip.

        Raises:
            UsageError: this is a recording.

        >>> _ = session.step(2), session.set("x", 3.0), session.step(), session.switch(1), session.step()
        >>> for one, other in session.side_by_side(*session.branches):
        ...     print(one.iteration, one.carried["x"], other.carried["x"])
        2 1.4166667 3.0
        3 1.4142157 1.8333334
        """
        controller = self.controller
        pairs = controller.side_by_side(first, second)

        def locked() -> Iterator[tuple[Boundary, Boundary]]:
            with controller.session_lock.hold():
                yield from pairs

        return locked()

    # -- control

    def watch(self, text: str) -> Breakpoint:
        """Set a watchpoint, which stops where a value differs from the previous boundary: ``h``,
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
        """Stop the running command at the next boundary; from any thread. No-op if none is running.

        >>> session.interrupt()
        """
        self.controller.session_lock.interrupt()

    # -- queries and exports, which do not move

    def why(self, frame: Any = None) -> Why:
        """Why the loop ended or continues: ``headline``, ``condition``, ``steps``, ``sides``, ``about`` (estimated
        number of further iterations); ``str()`` is the console output.

        Args:
            frame: the frame of the loop, the innermost by default.

        >>> _ = session.step(3)
        >>> session.why().condition, session.why().ended
        (True, None)
        >>> print(session.why())
        loop 'sqrt' goes on to iteration 3: ...
        """
        from ..termination.explanation import explain_termination

        reader = self.controller.reader_of(frame)
        return explain_termination(reader, IterationValues(reader).recent_boundaries(), self.controller.model.graph)

    def listing(self, which: str | int = "", frame: Any = None) -> SourceListing:
        """The pseudo-code with the values of this iteration: ``rows`` with a line, a marker and values each; ``str()``
        is the console output.

        Args:
            which: "" for the lines around the one that runs next, a line's number, or ``"all"``.
            frame: the frame of the loop, the innermost by default.

        Raises:
            UsageError: there is no such line.

        >>> _ = session.next_node()
        >>> [(row.line.text, row.value()) for row in session.listing(11).rows if row.values]
        [('half = x * 0.5', '1.0')]
        """
        state = self.controller
        frame_state = read_frame(state.reader_of(frame).with_references())
        return list_source(
            state.symbols.pseudo_code, frame_state, state.breakpoints, str(which), running=not state.stop.done
        )

    def compare(self, number: int = 0) -> BranchDifference:
        """The first difference between another branch (0: the parent) and the current one: ``iteration``, ``name``,
        ``left``, ``right``; ``str()`` is the console output.

        Raises:
            UsageError: there is no such branch, or it is this one; or this is a recording.

        >>> _ = session.step(2), session.set("x", 3.0), session.step(), session.switch(1), session.step()
        >>> found = session.compare(2)
        >>> found.iteration, found.name, found.left, found.right
        (2, 'x', array(3., dtype=float32), array(1.4166667, dtype=float32))
        """
        from .branch_difference import compare_branches

        if not self.controller.has_branches:
            self.controller.refuse("a branch")
        timeline = self.controller.timeline
        current = timeline.current_branch
        other = timeline.branch_numbered(number) if number else current.parent
        if other is None or other is current:
            raise UsageError("compare needs another branch; branch lists them")
        with self.controller.session_lock.hold():
            return compare_branches(other, current, timeline.branch_boundary_pairs(other, current))

    def record(
        self,
        path: str | Path,
        *,
        nodes: bool = False,
        every: int = 1,
        only: Collection[str] | None = None,
        force: bool = False,
    ) -> Run:
        """Run the model with these inputs from start to end, and record every boundary in a file for
        :meth:`Trace.open`; the session does not move.

        Args:
            nodes: record all values of the bodies as well.
            every: record only every N-th boundary, and the first and last of each entry.
            only: record only these values.
            force: overwrite an existing file.

        Raises:
            UsageError: the file exists already or cannot be written; the branch has edits, which a run from the start
                does not reproduce; or this is a recording.
            TraceError: the file could not be written completely.

        >>> session.record(folder / "run.loopdb").loops[0].iterations
        5
        >>> with loopdbg.Trace.open(folder / "run.loopdb") as trace:
        ...     trace.outputs["root"]
        array(1.4142135, dtype=float32)
        """
        run: Run = load_plugin("record")(self, Path(path), nodes=nodes, every=every, only=only, force=force)
        return run

    def extract(self, folder: str | Path, *, whole: bool = False, frame: Any = None, force: bool = False) -> Any:
        """Write the next or current iteration as a separate model with its inputs and expected outputs. Returns
        ``model`` (the path), ``loop``, ``iteration``, ``inputs``, ``outputs``.

        Args:
            whole: extract this entire entry of the loop.
            frame: the frame of the loop, the innermost by default.
            force: write into a folder that is not empty.

        Raises:
            UsageError: no loop is running, the folder cannot be written, or this is a recording.
            UnsupportedError: it cannot be a separate model.

        >>> _ = session.step(2)
        >>> session.extract(folder / "part").what
        "iteration 2 of loop 'sqrt'"
        """
        frame = self.controller.reader_of(frame)
        return load_plugin("extract")(self, Path(folder), frame, whole, force)

    def repro(self, folder: str | Path, what: str = "nan", *, force: bool = False) -> Any:
        """Reduce the model to the smallest part that reproduces a fault, as a folder for a bug report; returns
        ``confirmed``, ``title``, ``pack`` (the files); ``str()`` is the console output.

        Args:
            what: ``nan`` (the first NaN or Inf), ``onnxruntime`` or ``openvino`` (a different result there), or
                ``if EXPR`` (an expression becomes true).

        Raises:
            UsageError: the fault does not occur, the folder cannot be written, or this is a recording.

        >>> session.repro(folder / "report", "if err < 1e-3").confirmed
        True
        """
        return load_plugin("repro")(self, Path(folder), what, force)

    def profile(self) -> Any:
        """Measure where a run of the model with these inputs spends its time and memory; the session does not move.
        Returns the :class:`Profile`, see :meth:`Model.profile`.

        Raises:
            UsageError: this is a recording.

        >>> print(session.profile())
        newton_sqrt.onnx: ...
        """
        return load_plugin("profile_session")(self)

    def coverage(self) -> Any:
        """Measure what a run of the model with these inputs covers of its loops; the session does not move. Returns the
        :class:`Coverage`, see :meth:`Model.coverage`. The source of a screen shows it next to the lines.

        Raises:
            UsageError: this is a recording.

        >>> print(session.coverage())
        newton_sqrt.onnx: 2 of 4 points covered (50.0%) by 1 run
        ...
        """
        return load_plugin("coverage_session")(self)

    def diagnose(self) -> Any:
        """Judge the run so far, from its start with these inputs, see :meth:`Model.diagnose`; edits do not count, and
        the session does not move. Returns the :class:`Diagnosis`.

        Raises:
            UsageError: this is a recording.

        >>> _ = session.step(2)
        >>> print(session.diagnose())
        newton_sqrt.onnx: nothing suspicious in 2 iterations
        """
        return load_plugin("diagnose_session")(self)

    # -- in notebooks

    def widget(self) -> Any:
        """A notebook widget that steps this session: see :func:`loopdbg.widget`.

        Raises:
            UsageError: the package ``anywidget`` is not installed.

        >>> session.widget().view["stop"]
        "before iteration 0 of loop 'sqrt'"
        """
        return load_plugin("widget")(self)

    def _repr_html_(self) -> str:
        html: str = load_plugin("html")("session", self)
        return html

    # -- helpers

    def _command(self, command: Callable[[Controller], Stop]) -> Stop:
        """Execute a command while no other one runs."""
        controller = self.controller
        with controller.session_lock.hold():
            return command(controller)

    def _edit(self, frame: SessionFrame | None, change: Callable[[StateEditor], str]) -> Branch:
        controller = self.controller
        with controller.session_lock.hold():
            return controller.edit(frame, change)

    def _repeat(self, count: int, move: Callable[[Controller, int], tuple[Stop, int]], *, back: bool = False) -> Stop:
        """Call ``move`` until ``count`` steps are done; it gets the remaining count and returns its steps."""
        if count < 1:
            raise UsageError(f"{count} times makes no sense; give 1 or more", expected="1 or more", got=str(count))
        controller = self.controller
        while True:
            with controller.session_lock.hold():
                stop, steps = move(controller, count)
            count -= steps
            continues = stop.reason in _COUNT_CONTINUES_AFTER and not (back and controller.is_at_beginning)
            if count <= 0 or not continues:
                return stop


@public
def debug(model: Any, inputs: Mapping[str, Data] | None = None, *, max_iterations: int | None = None) -> Session:
    """Start a session on a model, or a source for :func:`load`, stopped before iteration 0 of its first loop.

    Args:
        inputs: by name, anything that ``np.asarray`` converts without loss.
        max_iterations: the number of iterations of a loop after which a command stops; None: no limit.

    Raises:
        ModelError: the file cannot be read.
        InputError: the inputs do not fit.
        UnsupportedError: an operator that nothing can run.
        ExecutionError: a node failed before the first loop.

    >>> loopdbg.debug("newton_sqrt.onnx", {"a": 2.0, "tol": 1e-6}).stop.text
    "before iteration 0 of loop 'sqrt'"
    """
    return Session(model if isinstance(model, Model) else load(model), inputs, max_iterations=max_iterations)


__all__ = ["Reason", "Session", "Stop", "debug"]
