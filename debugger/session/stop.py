"""Why a session stands where it stands."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from ...runtime.graph import StoppedBy


class Reason(StrEnum):
    """Why a session stands where it stands."""

    ENTRY = "entry"
    STEP = "step"
    NODE = "node"
    LOOP_END = "loop end"
    BREAKPOINT = "breakpoint"
    WATCHPOINT = "watchpoint"
    LIMIT = "limit"
    INTERRUPT = "interrupt"
    ERROR = "error"
    #: Going back found nothing to stop at, and came to where the session began.
    START = "start"
    DONE = "done"


@dataclass(frozen=True)
class Stop:
    """Where the session stands and why, in words for a person. ``breakpoints``: numbers of those that hit."""

    reason: Reason
    text: str
    breakpoints: tuple[int, ...] = ()


#: How messages put the end of a loop.
ENDED = {
    StoppedBy.TRIP_COUNT: "the trip count is reached",
    StoppedBy.CONDITION: "the condition is false",
    StoppedBy.INPUT_EXHAUSTED: "the sliced inputs are exhausted",
}
