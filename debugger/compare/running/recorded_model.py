"""Compares two runs. The model of a recording runs again in place of it, so that edits of it can be tried."""

from __future__ import annotations

from dataclasses import replace

from ....runtime.errors import InterruptError, LoopdbgError
from ....runtime.model import Model
from ..normal_form.lowering import constants_without_data
from ..report.findings import Comparison, Verdict
from .boundary_merge import ComparisonOptions, compare_sides
from .loop_matching import check_names
from .sides import ComparisonSide, ModelSide, TraceSide
from .value_comparison import Tolerance


def compare_runs(
    left: ComparisonSide, right: ComparisonSide, options: ComparisonOptions, limit: int | None
) -> Comparison:
    """Compare two runs; see :func:`compare_sides`. ``limit``: the most iterations of a recorded model.

    Raises:
        UsageError: a given name does not exist.
    """
    check_names(left, right, options.names)
    if isinstance(left, TraceSide) and isinstance(right, ModelSide):
        left = recorded_model(left, options, limit) or left
    return compare_sides(left, right, options)


def recorded_model(side: TraceSide, options: ComparisonOptions, limit: int | None) -> ModelSide | None:
    """The model of a recording as a side.

    Args:
        side: the recording.
        options: the options of the comparison.
        limit: ends each loop after this many iterations.

    Returns:
        The side; None if the recording lacks constants or boundaries, or if a run does not give the recorded values
        bit for bit, for example as some were set by hand.

    Raises:
        InterruptError: Ctrl-C.
    """
    trace = side.trace
    if trace.ended != "end" or constants_without_data(side.graph):
        return None
    exact = replace(options, tolerance=Tolerance(0.0, 0.0), names={}, loops=(), reports_partial=False)
    try:
        model = Model(side.graph)
        again = compare_sides(ModelSide(model, trace.inputs), side, replace(exact, proves_causes=False))
        return ModelSide(model, trace.inputs, limit, side.label) if again.verdict is Verdict.SAME else None
    except InterruptError:
        raise
    except LoopdbgError:
        return None
