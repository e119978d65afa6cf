"""A figure of a profile: time per iteration, of the loop and of the operators that take the most."""

from __future__ import annotations

from ...runtime.errors import UsageError
from ..plots.figures import NotebookFigure, plot_series
from .profile import Profile

#: The number of operators that have a curve.
_MOST_OPERATORS = 5


def plot_iterations(profile: Profile) -> NotebookFigure:
    """Plot the time per iteration of the outermost loop that takes the most.

    Raises:
        UsageError: no iterations were measured by themselves.
    """
    loop = max(profile.loops, key=lambda loop: loop.seconds * bool(loop.segments), default=None)
    if loop is None or not loop.segments:
        raise UsageError(f"{profile.model}: no loop has iterations that were measured by themselves; see its table")
    curves = [("all of it", [segment.seconds for segment in loop.segments])]
    for operator in profile.operators[:_MOST_OPERATORS]:
        inside = [node.seconds_by_segment for node in operator.nodes if node.loop.startswith(loop.path)]
        rows = [seconds for seconds in inside if seconds]
        if rows:
            title = operator.op_type if len(rows) > 1 else f"{operator.op_type} {operator.nodes[0].name}"
            curves.append((title, [sum(column) for column in zip(*rows, strict=True)]))
    return plot_series(
        [(segment.first + segment.end - 1) / 2 for segment in loop.segments],
        [(name, [seconds * 1e6 for seconds in values]) for name, values in curves],
        f"{profile.model}: time of an iteration of {loop.path}",
        "us per iteration",
    )
