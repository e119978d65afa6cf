"""Stops: the reason and description of the current position."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from ...runtime.graph import Loop, Node
from ...runtime.plugin_registry import load_plugin
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
    """The reason for a stop and its description. ``breakpoints``: numbers of the breakpoints that hit.

    >>> _ = session.breakpoints.add("iter 2")
    >>> stop = session.continue_()
    >>> stop.reason, stop.breakpoints
    (<Reason.BREAKPOINT: 'breakpoint'>, (1,))
    >>> stop.text
    "breakpoint 1 (iter 2): before iteration 2 of loop 'sqrt'"
    """

    reason: Reason
    text: str
    breakpoints: tuple[int, ...] = ()

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        drawn: str = load_plugin("html")("stop", self)
        return drawn


def boundary_stop(frame: FrameProtocol) -> Stop:
    """The stop at a boundary."""
    name, iteration = loop_label(frame.loop), frame.iteration
    if frame.stopped_by is not None:
        reason = end_reason(frame.stopped_by)
        if iteration == 0:
            return Stop(Reason.ENTRY, f"{name} runs no iteration: {reason} before the first")
        return Stop(Reason.LOOP_END, f"{name} ends after {count_text(iteration, 'iteration')}: {reason}")
    return Stop(Reason.STEP if iteration else Reason.ENTRY, f"before iteration {iteration} of {name}")


def interrupt_stop(frame: FrameProtocol) -> Stop:
    """The stop for an interrupt."""
    where = f"in {loop_label(frame.loop)}, iteration {frame.iteration}" if frame.loop else "outside of any loop"
    return Stop(Reason.INTERRUPT, f"interrupted {where}")


def nan_origin_text(node: Node, iteration: int, loop: Loop | None) -> str:
    """Description of the origin of a NaN."""
    return (
        f"{node.op_type} '{escape_unprintable(node.name)}' gave NaN or Inf in iteration {iteration} of"
        f" {loop_label(loop)}"
    )


def no_iteration_text(loop: Loop, iteration: int, count: int) -> str:
    """Message about an iteration that a loop does not have."""
    return f"loop '{loop.name}' has no iteration {iteration}: it ends after {count_text(count, 'iteration')}"


def loop_label(loop: Loop | None) -> str:
    """The name of a loop or the main graph in messages."""
    return "the main graph" if loop is None else f"loop '{loop.name}'"
