"""The reduction loop: runs all passes repeatedly until none makes the candidate smaller."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...runtime.errors import InterruptError
from . import data_passes, reduction_passes
from .documents.document import ReductionCandidate
from .interestingness import Observation
from .reduction_session import BudgetExhausted, ReductionSession

#: The passes in order of effect: name, function, and whether the finding may keep its kind with other inner values.
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
#: Maximum number of rounds; more have never helped.
_MAX_ROUNDS = 6


@dataclass(frozen=True)
class ReductionResult:
    """The result of a reduction. ``end_reason``: ``smallest`` if no pass helps, ``spent``, ``interrupted``,
    ``unconfirmed`` if smaller parts did not show the finding again."""

    candidate: ReductionCandidate
    observation: Observation
    tests: int
    end_reason: str


def reduce(run: ReductionSession) -> ReductionResult:
    """Minimize a candidate; Ctrl-C returns the best one so far."""
    end_reason = "smallest"
    try:
        for _ in range(_MAX_ROUNDS):
            if not _run_passes(run):
                break
    except BudgetExhausted:
        end_reason = "spent"
    except (KeyboardInterrupt, InterruptError):
        end_reason = "interrupted"
    return ReductionResult(run.best, run.observation, run.tests, end_reason)


def _run_passes(run: ReductionSession) -> bool:
    initial = run.best
    for name, run_pass, needs_other_values in PASSES:
        if run.predicate.allows_other_values or not needs_other_values:
            run.current_pass = name
            run_pass(run)
    return run.best is not initial
