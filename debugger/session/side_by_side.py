"""Two branches of a timeline run side by side, boundary by boundary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...runtime.engine.engine import Engine
from ...runtime.frame import Frame
from ...runtime.model import Data, Model
from .boundary import Boundary, read
from .timeline import Branch, Timeline
from .travel import Position, run_to


def together(
    model: Model, given: Mapping[int, Data], timeline: Timeline, first: Branch, second: Branch
) -> Iterator[tuple[Boundary, Boundary]]:
    """Pairs of boundaries at the same positions, from where the branches parted, up to where either was left.

    Where the branches come by different positions (one loop ends earlier) the last pair has what each came to.
    """
    parted = _parted(timeline, first, second)
    runs = [_boundaries(model, given, timeline, branch, parted) for branch in (first, second)]
    for (here, one), (there, other) in zip(*runs, strict=False):
        yield one, other
        if here != there or one.ended != other.ended:
            return


def _parted(timeline: Timeline, first: Branch, second: Branch) -> Position:
    """The position at which two lines of time parted."""
    lines = timeline.line(first), timeline.line(second)
    common = next(branch for branch in lines[0] if branch in lines[1])
    forks = [branch.fork for line in lines for branch in line if branch.parent is common and branch.fork is not None]
    return min(forks)


def _boundaries(
    model: Model, given: Mapping[int, Data], timeline: Timeline, branch: Branch, parted: Position
) -> Iterator[tuple[Position, Boundary]]:
    """The boundaries of a line of time from a position to its tip."""
    pieces: list[tuple[Branch, Position, Position]] = []
    end = branch.tip
    for one in timeline.line(branch):
        start = parted if one.fork is None else max(one.fork, parted)
        pieces.append((one, start, end))
        if one.fork is None or one.fork <= parted:
            break
        end = one.fork
    engine = Engine(model.plan)
    engine.start(given)
    for one, start, end in reversed(pieces):
        checkpoint = one.latest(start)
        assert checkpoint is not None  # a branch has one where it begins
        engine.checkpoints.restore(checkpoint)
        run_to(engine, start)
        if engine.stack and engine.pc == engine.plan.loops[engine.stack[-1]].head:
            yield start, read(Frame(engine, engine.stack[-1]))
        while engine.position < end:
            engine.clear_stops()
            engine.stop_anywhere()
            what, index = engine.resume()
            # Where the next piece begins the edit counts, not what was there before it.
            if what != "boundary" or engine.position > end or (engine.position == end != branch.tip):
                break
            yield engine.position, read(Frame(engine, index))
