"""At which moment a frame stands, and which iterations its values are of: in words, the same wherever they are told."""

from __future__ import annotations

from ..frame import AnyFrame


def when(frame: AnyFrame) -> str:
    """``before iteration 3``, ``in iteration 3``; where the loop ends ``after iteration 2``."""
    if not frame.at_boundary:
        return f"in iteration {frame.iteration}"
    ended = frame.stopped_by is not None and frame.iteration > 0
    return f"after iteration {frame.iteration - 1}" if ended else f"before iteration {frame.iteration}"


def whose(frame: AnyFrame) -> tuple[str, str]:
    """What the two values of a back edge are: ``iteration 2 got`` and ``iteration 3 gets``; the first is "" where
    nothing came before."""
    iteration = frame.iteration
    if not frame.at_boundary:
        return f"iteration {iteration} got", "it yields"
    last = "the loop gives" if frame.stopped_by is not None else f"iteration {iteration} gets"
    return (f"iteration {iteration - 1} got" if iteration else "", last)
