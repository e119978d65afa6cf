"""Stops: the reason and description of the current position."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from ...runtime.errors import LoopdbgError
from ...runtime.graph import Loop, Node, StoppedBy
from ...runtime.lazy_function_registry import load_plugin
from ...runtime.text import count_text, escape_unprintable
from ..describe.termination import end_reason
from ..frame_protocol import FrameProtocol


class Reason(StrEnum):
    """The reason for a stop.

    >>> session.step().reason
    <Reason.STEP: 'step'>
    """

    ENTRY = "entry"
    STEP = "step"
    NODE = "node"
    LOOP_END = "loop end"
    BREAKPOINT = "breakpoint"
    WATCHPOINT = "watchpoint"
    LIMIT = "limit"
    INTERRUPT = "interrupt"
    ERROR = "error"
    #: A reverse search found no hit and went to the start of the session.
    START = "start"
    DONE = "done"


@dataclass(frozen=True)
class Stop:
    """The reason for a stop and its description.

    Attributes:
        reason: why it stopped.
        text: the description, one sentence.
        breakpoints: numbers of the breakpoints that hit.
        loop: name of the loop of the position; None outside of loops, and after the model ran to its end.
        iteration: the iteration of that loop; at its end, the number of iterations.
        node: name of the next node, of the node that failed, or of the one that gave a NaN; None at a boundary.
        ended: why the loop ended; None if it goes on.

    >>> _ = session.breakpoints.add("iter 2")
    >>> stop = session.continue_()
    >>> stop.reason, stop.breakpoints, stop.loop, stop.iteration
    (<Reason.BREAKPOINT: 'breakpoint'>, (1,), 'sqrt', 2)
    >>> stop.text
    "breakpoint 1 (iter 2): before iteration 2 of loop 'sqrt'"
    """

    reason: Reason
    text: str
    breakpoints: tuple[int, ...] = ()
    loop: str | None = None
    iteration: int | None = None
    node: str | None = None
    ended: StoppedBy | None = None

    @property
    def done(self) -> bool:
        """True if the model ran to its end.

        >>> session.continue_().done
        True
        """
        return self.reason is Reason.DONE

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        drawn: str = load_plugin("html")("stop", self)
        return drawn


def boundary_stop(frame: FrameProtocol) -> Stop:
    """The stop at a boundary."""
    label, iteration = loop_label(frame.loop), frame.iteration
    if frame.stopped_by is None:
        return stop_in_frame(
            frame, Reason.STEP if iteration else Reason.ENTRY, f"before iteration {iteration} of {label}"
        )
    reason = end_reason(frame.stopped_by)
    if iteration == 0:
        return stop_in_frame(frame, Reason.ENTRY, f"{label} runs no iteration: {reason} before the first")
    return stop_in_frame(frame, Reason.LOOP_END, f"{label} ends after {count_text(iteration, 'iteration')}: {reason}")


def interrupt_stop(frame: FrameProtocol) -> Stop:
    """The stop for an interrupt."""
    where = f"in {loop_label(frame.loop)}, iteration {frame.iteration}" if frame.loop else "outside of any loop"
    return stop_in_frame(frame, Reason.INTERRUPT, f"interrupted {where}")


def no_hit_stop(start: Stop) -> Stop:
    """The stop for a reverse search without a hit, at the start of the session."""
    return replace(start, reason=Reason.START, text=f"no breakpoint would have stopped before; {start.text}")


def error_stop(error: LoopdbgError | MemoryError) -> Stop:
    """The stop for an error of the model."""
    if not isinstance(error, LoopdbgError):
        return Stop(Reason.ERROR, str(error))
    return Stop(Reason.ERROR, str(error), loop=error.loop, iteration=error.iteration, node=error.node)


def origin_stop(node: Node, iteration: int, loop: Loop | None, what: str) -> Stop:
    """The stop after the node that did what a breakpoint waits for."""
    label = f"{node.op_type} '{escape_unprintable(node.name)}'"
    return Stop(
        Reason.BREAKPOINT,
        f"{label} {what} in iteration {iteration} of {loop_label(loop)}",
        loop=None if loop is None else loop.name,
        iteration=iteration,
        node=node.name,
    )


def stop_in_frame(frame: FrameProtocol, reason: Reason, text: str, node: Node | None = None) -> Stop:
    """A stop in a frame, before ``node`` or at a boundary."""
    name = None if node is None else node.name
    if frame.loop is None:
        return Stop(reason, text, node=name)
    return Stop(reason, text, loop=frame.loop.name, iteration=frame.iteration, node=name, ended=frame.stopped_by)


def no_iteration_text(loop: Loop, iteration: int, count: int) -> str:
    """Message about an iteration that a loop does not have."""
    return f"loop '{loop.name}' has no iteration {iteration}: it ends after {count_text(count, 'iteration')}"


def loop_label(loop: Loop | None) -> str:
    """The name of a loop or the main graph in messages."""
    return "the main graph" if loop is None else f"loop '{loop.name}'"
