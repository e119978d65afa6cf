"""What commands are made of: where a debuggee stands, what stops it there, and what it cannot do.

Front ends of our own read it as ``session._internals``; for users there are the commands of :mod:`.session_base`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from ...runtime.api_boundary import call_user
from ...runtime.errors import Remedy, UsageError
from ...runtime.graph import Node, TensorType
from ...runtime.model import Data, LoopTotals, Model
from ...runtime.ownership import SessionLock
from ..breakpoints.breakpoint import Breakpoint, Trigger
from ..breakpoints.collection import Breakpoints
from ..breakpoints.symbol_table import SymbolTable
from ..expression.language import Expression
from ..frame_protocol import FrameProtocol
from ..scope.iteration_values import FrameWithHistory
from ..statistics.value_history import EMPTY_EVOLUTION, Evolution
from .live_status import LiveStatus
from .stop import Reason, Stop
from .timeline import Timeline


class Controller(ABC):
    """Something that stands somewhere, and stops where its breakpoints say."""

    #: Why what is refused is not possible.
    refusal_reason = "nothing can be run here"
    #: And what can be done about it.
    remedy: Remedy | None = None
    #: False where nothing but boundaries can be stopped at.
    has_nodes = True
    #: False where there is one line of time only.
    has_branches = True

    def __init__(self, model: Model, places: SymbolTable, inputs: Mapping[str, Data]) -> None:
        self.model = model
        self.symbols = places
        self.inputs = dict(inputs)
        #: Those that a restart gave.
        self.restart_inputs: frozenset[str] = frozenset()
        self.stop = Stop(Reason.ENTRY, "")
        self.breakpoints = Breakpoints(self)
        #: What logpoints printed since somebody last took it; ``on_log`` gets each line at once, where it is set.
        self.logged: list[str] = []
        self.on_log: Callable[[str], object] | None = None
        #: Nobody else moves it meanwhile: ``with turns.turn():``.
        self.session_lock = SessionLock(self._request_interrupt, self._clear_interrupt)

    def refuse(self, what: str) -> NoReturn:
        """Say that something is not possible, and why.

        Raises:
            UsageError: always.
        """
        raise UsageError(f"{what} is not possible: {self.refusal_reason}", self.remedy)

    # -- where it stands

    @property
    def done(self) -> bool:
        """True once the model ran to its end."""
        return self.stop.reason is Reason.DONE

    @property
    @abstractmethod
    def running(self) -> bool:
        """True while another thread moves it."""

    @property
    @abstractmethod
    def epoch(self) -> int:
        """Grows whenever it moves, or is edited."""

    @property
    @abstractmethod
    def position(self) -> tuple[int, ...]:
        """Where in time it stands; positions of one line of time compare in its order."""

    @property
    @abstractmethod
    def outputs(self) -> dict[str, Data] | None:
        """The model's outputs by name once it ran to its end; None before."""

    @property
    @abstractmethod
    def totals(self) -> list[LoopTotals]:
        """How often each loop ran so far."""

    @property
    @abstractmethod
    def progress(self) -> Mapping[str, int]:
        """The iterations of each loop by path, as they were lately; from any thread."""

    @property
    def latest_histories(self) -> Mapping[str, Evolution]:
        """What the values of each loop were, by path, as it was lately; from any thread."""
        return {}

    @property
    def live_status(self) -> Mapping[str, LiveStatus]:
        """Where each loop that runs stood, by path, as it was lately; from any thread."""
        return {}

    def evolution(self, index: int, entry: int | None = None) -> Evolution:
        """What the values of a loop were in one of its entries, the present or last one by default.

        Raises:
            UsageError: that is not remembered.
        """
        if entry is not None:
            self.refuse("the history of another entry")
        found = [frame for frame in (self.frame, *self.frames) if frame.index == index]
        return found[0].evolution if found else EMPTY_EVOLUTION

    @property
    def is_at_beginning(self) -> bool:
        """True where there is nothing to go back to."""
        return False

    @property
    @abstractmethod
    def frame(self) -> FrameWithHistory:
        """The innermost running loop; the main graph where none runs; after the end the loop that ended last."""

    @property
    @abstractmethod
    def frames(self) -> Sequence[FrameWithHistory]:
        """All running loops, outermost first, the main graph before them."""

    def frame_or_innermost(self, frame: Any) -> Any:
        """The frame that a caller means; None: the innermost.

        Raises:
            UsageError: it is no frame.
        """
        if frame is None:
            return self.frame
        if not hasattr(frame, "back_edges"):
            raise UsageError(f"frame must be one of the session's frames, not {type(frame).__name__}")
        return frame

    def inspection_frame(self, frame: Any) -> FrameProtocol:
        """One of its frames to be looked at before it moves: what is large may be references
        (:class:`..statistics.tensor.TensorRef`)."""
        shown: FrameProtocol = frame
        return shown

    @abstractmethod
    def is_at_boundary(self) -> bool:
        """True where a boundary of the innermost loop is what is stopped at."""

    @abstractmethod
    def current_loop_index(self) -> int:
        """The index of the loop that is stopped in; else of the one that ended last, else of the first; -1: there is
        none."""

    def next_node_to_run(self) -> Node:
        """The node that runs next.

        Raises:
            UsageError: none does.
        """
        self.refuse("stopping at a node")

    @property
    def timeline(self) -> Timeline:
        """The checkpoints and the branches."""
        self.refuse("a checkpoint")

    # -- breakpoints

    def check_expression(self, expression: Expression, index: int) -> None:
        """See that an expression can be tested in a loop's body (-1: in the main graph).

        Raises:
            UsageError: it cannot; the text says why.
        """
        self.symbols.check_names(expression, index)

    def check_condition(self, condition: Expression, index: int) -> None:
        """See that an expression can be what something stops for in a loop's body (-1: in the main graph).

        Raises:
            UsageError: it cannot be tested there, or is not true or false by the types that are known now.
        """
        self.check_expression(condition, index)
        condition.check_condition(lambda name: self._value_type(name, index))

    def _value_type(self, name: str, index: int) -> TensorType | None:
        """What is known of a value in a loop's body: the type it is declared with, else the dtype that it has now."""
        declared = self.symbols.declared_type(index, name)
        if declared is None or declared.dtype is not None:
            return declared
        now = [frame.values.get(name) for frame in (self.frame, *self.frames) if frame.index == index]
        found = next((value for value in now if isinstance(value, np.ndarray)), None)
        return declared if found is None else TensorType(found.dtype)

    # What is looked at where something moves has nothing to prepare.
    def prime_breakpoints(self, *breakpoints: Breakpoint) -> None:  # noqa: B027
        """Tell breakpoints that compare with the boundary before where this stands now."""

    def install_breakpoint(self, breakpoint_: Breakpoint) -> None:  # noqa: B027
        """Look for a breakpoint from now on."""

    def uninstall_breakpoint(self, breakpoint_: Breakpoint) -> None:  # noqa: B027
        """Look for it no more."""

    def is_tested_in_python(self, breakpoint_: Breakpoint) -> bool:
        """True where testing a breakpoint slows the run down: in Python at every boundary of some loop, which takes
        microseconds."""
        return False

    def emit_log(self, text: str) -> None:
        """What a logpoint says."""
        if self.on_log is not None:
            call_user(self.on_log, text)
        else:
            self.logged.append(text)

    def check_breakpoints(self) -> Stop:
        """Test the breakpoints at the boundary that this stands at, as if it had just come there; without a hit nothing
        changes. For breakpoints that are set at the boundary which they are about; of a model without loops, before its
        first node."""
        with self.session_lock.hold():
            if self.is_at_boundary() or self.frame.loop is None:
                for breakpoint_ in self.breakpoints:
                    breakpoint_.already_tested = False
                hits = self.breakpoints.find_hits(self.frame)
                if hits:
                    self.stop = self.hit_stop(hits)
            return self.stop

    def hit_stop(self, hits: list[Breakpoint], where: str = "") -> Stop:
        """The stop for breakpoints that hit here; one that waits for NaN says which node made it, if it can. ``where``:
        what the text calls this place, instead of what it is called without breakpoints."""
        told = []
        for breakpoint_ in hits:
            told.append(f"{breakpoint_.kind_name} {breakpoint_.number} ({breakpoint_.title})")
            if breakpoint_.temporary:
                self.breakpoints.delete(breakpoint_.number)
        numbers = tuple(breakpoint_.number for breakpoint_ in hits)
        where = where or self.stop_here().text
        failed = next((breakpoint_ for breakpoint_ in hits if breakpoint_.failure), None)
        if failed is not None:
            text = f"{failed.kind_name} {failed.number} cannot be tested: {failed.failure}"
            return Stop(Reason.ERROR, f"{text}; {where}", numbers)
        watched = all(breakpoint_.kind is Trigger.WATCH for breakpoint_ in hits)
        if self.is_at_boundary() and all(b.kind is Trigger.NAN for b in hits):
            # One that is about any value knows best: a carried value is made by no node.
            first = min(hits, key=lambda hit: hit.expression is not None)
            where = self._go_to_nan_origin(first) or where
        reason = Reason.WATCHPOINT if watched else Reason.BREAKPOINT
        changes = [b.change_text for b in hits if b.kind is Trigger.WATCH]
        return Stop(reason, f"{'; '.join([', '.join(told), *changes])}: {where}", numbers)

    def _go_to_nan_origin(self, breakpoint_: Breakpoint) -> str:
        """Find the node that made the NaN which a boundary shows, and go to it where that can be; says which, "" if
        none did."""
        return ""

    @abstractmethod
    def stop_here(self) -> Stop:
        """The stop for where this stands, whatever led here."""

    # -- how

    @abstractmethod
    def _request_interrupt(self) -> None:
        """Let what runs stop soon."""

    @abstractmethod
    def _clear_interrupt(self) -> None:
        """Let what runs next not stop for that."""


class ClosedController:
    """What is left of a session that was closed."""

    def __getattr__(self, name: str) -> NoReturn:
        raise UsageError("this session is closed; begin another one")

    def __repr__(self) -> str:
        return "closed"
