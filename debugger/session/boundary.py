"""Records of boundaries, as stored in traces and compared by diffs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ...runtime.frame import Frame, FrameInternals, frame_reader
from ...runtime.graph import StoppedBy
from ...runtime.input_validation import Data


@dataclass(frozen=True, eq=False)
class Boundary:
    """One boundary of one loop, copied from a run.

    ``loop``: its path, as in ``main ▸ outer ▸ inner``; ``entry``: the iterations of the enclosing loops, outermost
    first, which identify the entry of a nested loop. ``iteration``: the one that would run next.
    """

    loop: str
    entry: tuple[int, ...]
    iteration: int
    #: Whether the next iteration may run; None if the loop has no condition.
    condition: bool | None
    #: Why the loop ends here; None while it goes on.
    ended: StoppedBy | None
    #: Parameter -> value that the back edge carries into the next iteration.
    carried: Mapping[str, Data]
    #: Scan output -> element added by the iteration that just ended; empty before iteration 0.
    scanned: Mapping[str, Data] = field(default_factory=dict)
    #: Body value -> result of the iteration that just ended; values of the loop test belong to the next iteration.
    #: Empty unless recorded.
    computed: Mapping[str, Data] = field(default_factory=dict)


def read_boundary(frame: Frame) -> Boundary:
    """The record of a frame at a boundary."""
    reader: FrameInternals = frame_reader(frame)
    loop = reader.loop
    assert loop is not None and reader.at_boundary
    scanned = {}
    for index, port in enumerate(loop.scan_outputs if reader.iteration > 0 else ()):
        scanned[port.outer.name] = reader.scan_tail(index, 1)[3][-1]
    return Boundary(
        reader.path, reader.entry, reader.iteration, reader.condition, reader.stopped_by, dict(reader.carried), scanned
    )
