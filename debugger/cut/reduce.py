"""The whole reduction: all ways to make a candidate smaller, again and again until none helps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...runtime.errors import InterruptError
from . import data, passes
from .document import Candidate
from .lab import Lab, Spent
from .predicate import Shown

#: What is done, in the order in which it helps most, what to call it, and whether it needs a finding that is the same
#: with other numbers inside.
PASSES: Sequence[tuple[str, Callable[[Lab], bool], bool]] = (
    ("outputs", passes.one_output, False),
    ("iterations", passes.fewer_iterations, False),
    ("branches", passes.branches, False),
    ("nodes", passes.fewer_nodes, False),
    ("bodies", passes.unread, False),
    ("bodies", passes.inner, True),
    ("metadata", passes.tidy, False),
    ("axes", data.shorter_axes, True),
    ("values", data.simpler_values, True),
)
#: More rounds than that have never helped.
_ROUNDS = 6


@dataclass(frozen=True)
class Reduced:
    """What is left. ``ended``: why it ended: ``smallest`` where nothing more helps, ``spent``, ``interrupted``."""

    candidate: Candidate
    shown: Shown
    tests: int
    ended: str


def reduce(lab: Lab) -> Reduced:
    """Make what shows a finding as small as can be; Ctrl-C gives the best so far."""
    ended = "smallest"
    try:
        for _ in range(_ROUNDS):
            if not _round(lab):
                break
    except Spent:
        ended = "spent"
    except (KeyboardInterrupt, InterruptError):
        ended = "interrupted"
    return Reduced(lab.best, lab.shown, lab.tests, ended)


def _round(lab: Lab) -> bool:
    before = lab.best
    for name, one, loose in PASSES:
        if lab.predicate.loose or not loose:
            lab.doing = name
            one(lab)
    return lab.best is not before
