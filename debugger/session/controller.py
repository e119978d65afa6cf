"""The controller of a session: what a live run and a recording have in common, and the commands of both.

Built-in front ends access it as ``session.controller``; users have the commands of :mod:`.session`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ...runtime.api_boundary import call_user_function
from ...runtime.errors import Remedy, UsageError
from ...runtime.frame import frame_reader
from ...runtime.graph import Node, TensorType
from ...runtime.model import Data, LoopTotals, Model
from ...runtime.session_lock import SessionLock
from ..breakpoints.breakpoint import NODE_RESULT_TRIGGERS, Breakpoint, Trigger
from ..breakpoints.collection import Breakpoints
from ..breakpoints.symbol_table import SymbolTable
from ..expression.expression import Expression
from ..frame_protocol import FrameReader
from ..statistics.value_history import EMPTY_EVOLUTION, Evolution
from .boundary import Boundary
from .live_status import LiveStatus
from .stop import Reason, Stop
from .timeline import Branch, Timeline

if TYPE_CHECKING:
    from .editor import StateEditor


class Controller(ABC):
    """A run or recording with a current position that stops at its breakpoints.

    Commands are called while :attr:`session_lock` is held; those that are not implemented are refused.
    """

    #: Why refused actions are not possible.
    refusal_reason = "nothing can be run here"
    #: A suggestion to the user.
    remedy: Remedy | None = None
    #: False if stops are possible only at boundaries.
    has_nodes = True
    #: False if there is only one branch.
    has_branches = True
    #: The number of iterations of a loop after which a command stops; None: no limit.
    max_iterations: int | None = None

    def __init__(self, model: Model, symbols: SymbolTable, inputs: Mapping[str, Data]) -> None:
        self.model = model
        self.model_name = model.name
        self.symbols = symbols
        self.inputs = dict(inputs)
        #: Names of the inputs that a restart replaced.
        self.restart_inputs: frozenset[str] = frozenset()
        #: Signs next to the lines of nodes: what the last measured coverage says of them.
        self.line_signs: Mapping[Node, str] = {}
        self.stop = Stop(Reason.ENTRY, "")
        self.breakpoints = Breakpoints(self)
        #: Pending lines of logpoints; if ``on_log`` is set, it gets each line at once instead.
        self.logged: list[str] = []
        self.on_log: Callable[[str], object] | None = None
        #: Exclusive ownership while a command runs: ``with session_lock.hold():``.
        self.session_lock = SessionLock(self._request_interrupt, self._clear_interrupt)

    def refuse(self, action: str) -> NoReturn:
        """Reject an action that is not possible, with the reason.

        Raises:
            UsageError: always.
        """
        raise UsageError(f"{action} is not possible: {self.refusal_reason}", self.remedy, name=action)

    # -- position

    @property
    @abstractmethod
    def running(self) -> bool:
        """True while another thread runs a command."""

    @property
    @abstractmethod
    def epoch(self) -> int:
        """Counter that grows with each move or edit."""

    @property
    @abstractmethod
    def position(self) -> tuple[int, ...]:
        """The position in the execution; positions of one branch are ordered by time."""

    @property
    @abstractmethod
    def outputs(self) -> dict[str, Data] | None:
        """The model's outputs by name after it ran to its end; None before."""

    @property
    @abstractmethod
    def totals(self) -> list[LoopTotals]:
        """Iteration and entry counts of each loop so far."""

    @property
    @abstractmethod
    def progress(self) -> Mapping[str, int]:
        """Recent iteration counts of each loop by path; thread-safe."""

    @property
    def latest_histories(self) -> Mapping[str, Evolution]:
        """Recent value histories of each loop by path; thread-safe."""
        return {}

    @property
    def live_status(self) -> Mapping[str, LiveStatus]:
        """Recent status of each running loop by path; thread-safe."""
        return {}

    def evolution(self, index: int, entry: int | None = None) -> Evolution:
        """The value histories of a loop in one of its entries, by default the current or last one.

        Raises:
            UsageError: the entry is no longer stored.
        """
        if entry is not None:
            self.refuse("the history of another entry")
        frames = [frame for frame in (self.frame, *self.frames) if frame.index == index]
        return frames[0].evolution if frames else EMPTY_EVOLUTION

    @property
    def is_at_beginning(self) -> bool:
        """True if there is no earlier position."""
        return False

    @property
    @abstractmethod
    def frame(self) -> FrameReader:
        """The innermost running loop; the main graph if none runs; after the end the loop that ended last."""

    @property
    @abstractmethod
    def frames(self) -> Sequence[FrameReader]:
        """The main graph, then all running loops, outermost first."""

    def frames_by_reference(self) -> Sequence[FrameReader]:
        """As :attr:`frames`, with references to large tensors."""
        return self.frames

    def reader_of(self, frame: Any) -> FrameReader:
        """The reader of a given frame; for None of the innermost.

        Raises:
            UsageError: it is no frame.
        """
        if frame is None:
            return self.frame
        if not hasattr(frame, "back_edges"):
            raise UsageError(
                f"frame must be one of the session's frames, not {type(frame).__name__}",
                name="frame",
                got=type(frame).__name__,
            )
        reader: FrameReader = frame_reader(frame)
        return reader

    @abstractmethod
    def is_at_boundary(self) -> bool:
        """True if the stop is at a boundary of the innermost loop."""

    @abstractmethod
    def current_loop_index(self) -> int:
        """The index of the current loop, else of the one that ended last, else of the first; -1: there is none."""

    def next_node_to_run(self) -> Node:
        """The node that runs next.

        Raises:
            UsageError: there is none.
        """
        self.refuse("stopping at a node")

    @property
    def timeline(self) -> Timeline:
        """The checkpoints and the branches."""
        self.refuse("a checkpoint")

    # -- commands

    def set_max_iterations(self, limit: int | None) -> None:
        """See :attr:`.session.Session.max_iterations`."""
        self.refuse("a limit of iterations")

    def restart(self, inputs: Mapping[str, Data] | None) -> Stop:
        """See :meth:`.session.Session.restart`."""
        self.refuse("a restart")

    def step(self) -> Stop:
        """Run to the next boundary of this loop; from its end to that of any loop."""
        self.refuse("stepping")

    def next_node(self) -> Stop:
        """Run one node of this body."""
        self.refuse("stepping by nodes")

    def into(self) -> Stop:
        """Run one node; if it is a loop, to its first boundary."""
        self.refuse("stepping")

    def finish(self) -> Stop:
        """Run to the end of this loop; from there, to that of the enclosing loop."""
        self.refuse("stepping")

    def run_to_iteration(self, iteration: int) -> Stop:
        """Run to the boundary of this loop before a later iteration, or to its end.

        Raises:
            UsageError: the iteration is not ahead, or no loop is running.
        """
        self.refuse("stepping")

    def continue_(self) -> Stop:
        """Run to the next breakpoint, the end of the model, or the first limit."""
        self.refuse("going on")

    def back(self, count: int) -> tuple[Stop, int]:
        """Go back by up to ``count`` boundaries at once; returns their number as well.

        Raises:
            UsageError: there is nothing before.
        """
        self.refuse("going back")

    def back_node(self) -> Stop:
        """Go back by one node of this body.

        Raises:
            UsageError: there is nothing before.
        """
        self.refuse("stepping by nodes")

    def go_to_iteration(self, iteration: int) -> Stop:
        """Go to the boundary of this loop before an iteration, back or ahead.

        Raises:
            UsageError: there is none.
        """
        self.refuse("going to an iteration")

    def reverse_continue(self) -> Stop:
        """Go to the last hit before the current position, or to the start of the session."""
        self.refuse("going back")

    def edit(self, frame: Any, change: Callable[[StateEditor], str]) -> Branch:
        """Make a change to the values of a frame (None: the innermost) and fork a branch; ``change`` returns its
        description.

        Raises:
            UsageError: it is not possible here.
        """
        self.refuse("changing a value")

    def undo(self) -> Stop:
        """See :meth:`.session.Session.undo`."""
        self.refuse("changing a value")

    def save(self, path: Path, force: bool) -> list[Path]:
        """See :meth:`.session.Session.save`."""
        self.refuse("saving a changed model")

    def switch(self, number: int) -> Stop:
        """See :meth:`.session.Session.switch`."""
        self.refuse("a branch")

    @property
    def branches(self) -> Sequence[Branch]:
        """The branches: the first run, and one for each edit."""
        self.refuse("a branch")

    @property
    def branch(self) -> Branch:
        """The current branch."""
        self.refuse("a branch")

    def side_by_side(self, first: Branch, second: Branch) -> Iterator[tuple[Boundary, Boundary]]:
        """See :meth:`.session.Session.side_by_side`."""
        self.refuse("a branch")

    # -- breakpoints

    def check_expression(self, expression: Expression, index: int) -> None:
        """Check that an expression can be tested in a loop's body (-1: in the main graph).

        Raises:
            UsageError: it cannot; the message has the reason.
        """
        self.symbols.check_names(expression, index)

    def check_condition(self, condition: Expression, index: int) -> None:
        """Check that an expression can be a stop condition in a loop's body (-1: in the main graph).

        Raises:
            UsageError: it cannot be tested there, or is not boolean by the currently known types.
        """
        self.check_expression(condition, index)
        condition.check_condition(lambda name: self._value_type(name, index))

    def _value_type(self, name: str, index: int) -> TensorType | None:
        """The type of a value in a loop's body: the declared type, else its current dtype."""
        declared = self.symbols.declared_type(index, name)
        if declared is None or declared.dtype is not None:
            return declared
        values = [frame.values.get(name) for frame in (self.frame, *self.frames) if frame.index == index]
        value = next((value for value in values if isinstance(value, np.ndarray)), None)
        return declared if value is None else TensorType(value.dtype)

    # The defaults do nothing: a recording tests breakpoints as it moves.
    def prime_breakpoints(self, *breakpoints: Breakpoint) -> None:  # noqa: B027
        """Give the current values to breakpoints that compare with the previous boundary."""

    def install_breakpoint(self, breakpoint_: Breakpoint) -> None:  # noqa: B027
        """Start testing a breakpoint."""

    def uninstall_breakpoint(self, breakpoint_: Breakpoint) -> None:  # noqa: B027
        """Stop testing a breakpoint."""

    def is_tested_in_python(self, breakpoint_: Breakpoint) -> bool:
        """True if a breakpoint slows the run down: it is tested in Python at every boundary of some loop, which takes
        microseconds."""
        return False

    def emit_log(self, text: str) -> None:
        """Deliver the text of a logpoint."""
        if self.on_log is not None:
            call_user_function(self.on_log, text)
        else:
            self.logged.append(text)

    def check_breakpoints(self) -> Stop:
        """Test the breakpoints at the current boundary as if it had just been reached; without a hit nothing changes.
        For breakpoints that are set at their own boundary; in a model without loops, before its first node."""
        with self.session_lock.hold():
            if self.is_at_boundary() or self.frame.loop is None:
                for breakpoint_ in self.breakpoints:
                    breakpoint_.already_tested = False
                hits = self.breakpoints.find_hits(self.frame)
                if hits:
                    self.stop = self.hit_stop(hits)
            return self.stop

    def hit_stop(self, hits: list[Breakpoint], here: Stop | None = None) -> Stop:
        """The stop for breakpoints that hit here; a NaN breakpoint names the node of origin, if possible. ``here``:
        the stop for the position in place of the default one."""
        titles = []
        for breakpoint_ in hits:
            titles.append(f"{breakpoint_.kind_name} {breakpoint_.number} ({breakpoint_.title})")
            if breakpoint_.temporary:
                self.breakpoints.delete(breakpoint_.number)
        numbers = tuple(breakpoint_.number for breakpoint_ in hits)
        here = here or self.current_stop()
        failed = next((breakpoint_ for breakpoint_ in hits if breakpoint_.failure), None)
        if failed is not None:
            text = f"{failed.kind_name} {failed.number} cannot be tested: {failed.failure}"
            return replace(here, reason=Reason.ERROR, text=f"{text}; {here.text}", breakpoints=numbers)
        only_watchpoints = all(breakpoint_.kind is Trigger.WATCH for breakpoint_ in hits)
        if self.is_at_boundary() and all(b.kind in NODE_RESULT_TRIGGERS for b in hits):
            # Prefer a breakpoint on any value: no node computes a carried value.
            first = min(hits, key=lambda hit: hit.expression is not None)
            here = self._go_to_origin(first) or here
        reason = Reason.WATCHPOINT if only_watchpoints else Reason.BREAKPOINT
        changes = [b.change_text for b in hits if b.kind is Trigger.WATCH]
        text = f"{'; '.join([', '.join(titles), *changes])}: {here.text}"
        return replace(here, reason=reason, text=text, breakpoints=numbers)

    def _go_to_origin(self, breakpoint_: Breakpoint) -> Stop | None:
        """Find the node that gave what a breakpoint waits for at a boundary, and go to it if possible; None if there is
        none."""
        return None

    @abstractmethod
    def current_stop(self) -> Stop:
        """The stop for the current position, regardless of its cause."""

    # -- interrupts

    @abstractmethod
    def _request_interrupt(self) -> None:
        """Make the running command stop soon."""

    @abstractmethod
    def _clear_interrupt(self) -> None:
        """Discard a pending interrupt before the next command."""


class ClosedController:
    """Null object for a closed session: every access raises UsageError."""

    def __getattr__(self, name: str) -> NoReturn:
        raise UsageError("this session is closed; begin another one", expected="an open session")

    def __repr__(self) -> str:
        return "closed"
