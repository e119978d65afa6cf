"""The whole reduction: all ways to make a candidate smaller, again and again until none helps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...runtime.errors import InterruptError
from . import data_passes, reduction_passes
from .documents.document import ReductionCandidate
from .interestingness import Observation
from .reduction_session import BudgetExhausted, ReductionSession

#: What is done, in the order in which it helps most, what to call it, and whether it needs a finding that is the same
#: with other numbers inside.
PASSES: Sequence[tuple[str, Callable[[ReductionSession], bool], bool]] = (
    ("outputs", reduction_passes.keep_one_output, False),
    ("iterations", reduction_passes.reduce_iterations, False),
    ("branches", reduction_passes.inline_branches, False),
    ("nodes", reduction_passes.remove_nodes, False),
    ("bodies", reduction_passes.remove_unread_results, False),
    ("bodies", reduction_passes.reduce_inner_graphs, True),
    ("metadata", reduction_passes.remove_metadata, False),
    ("axes", data_passes.shorten_axes, True),
    ("values", data_passes.simplify_values, True),
)
#: More rounds than that have never helped.
_MAX_ROUNDS = 6


@dataclass(frozen=True)
class ReductionResult:
    """What is left. ``ended``: why it ended: ``smallest`` where nothing more helps, ``spent``, ``interrupted``."""

    candidate: ReductionCandidate
    observation: Observation
    tests: int
    end_reason: str


def reduce(lab: ReductionSession) -> ReductionResult:
    """Make what shows a finding as small as can be; Ctrl-C gives the best so far."""
    ended = "smallest"
    try:
        for _ in range(_MAX_ROUNDS):
            if not _run_passes(lab):
                break
    except BudgetExhausted:
        ended = "spent"
    except (KeyboardInterrupt, InterruptError):
        ended = "interrupted"
    return ReductionResult(lab.best, lab.observation, lab.tests, ended)


def _run_passes(lab: ReductionSession) -> bool:
    before = lab.best
    for name, one, loose in PASSES:
        if lab.predicate.allows_other_values or not loose:
            lab.current_pass = name
            one(lab)
    return lab.best is not before
