"""Traces differing outputs back through the main graphs if no loop differs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ....runtime.graph import Graph, walk
from ..alignment.model_alignment import AlignedModels
from ..report.findings import Cause, Comparison, Difference
from ..running.output_comparison import outputs_by_name
from ..running.sides import ComparisonSide, ModelSide, TraceSide
from ..running.value_comparison import Tolerance
from .difference_tracer import DifferenceTracer

#: The most outputs that are traced.
MAX_TRACED_OUTPUTS = 8


def trace_output_causes(
    result: Comparison, left: ComparisonSide, right: ComparisonSide, alignment: AlignedModels, tolerance: Tolerance
) -> None:
    """Trace the causes of differing outputs, unless a loop differs, which is more informative."""
    if all(loop.same for loop in result.loops):
        record_first_differing_output(
            result, alignment.graphs[0], _output_causes(result, left, right, alignment, tolerance)
        )


def record_first_differing_output(result: Comparison, graph: Graph, causes: Iterable[tuple[Difference, Cause]]) -> None:
    """Record the output whose causing node runs first; without a node, the first output."""
    order = {node.name: k for k, node in reversed(list(enumerate(walk(graph))))}

    def position(item: tuple[Difference, Cause]) -> int:
        node = item[1].node
        return len(order) if node is None else order.get(node.node, len(order))

    first = min(causes, key=position, default=None)
    if first is not None:
        result.first_output, result.cause = first


def _output_causes(
    result: Comparison, left: ComparisonSide, right: ComparisonSide, alignment: AlignedModels, tolerance: Tolerance
) -> Iterator[tuple[Difference, Cause]]:
    """The cause of each differing output, if known."""
    if not isinstance(left, ModelSide | TraceSide) or not isinstance(right, ModelSide | TraceSide):
        return
    a, b = left.final_reader, right.final_reader
    if a is None or b is None:
        return
    left_outputs, right_outputs = (
        outputs_by_name(alignment.graphs[0]),
        outputs_by_name(alignment.graphs[1]),
    )
    for difference in result.outputs[:MAX_TRACED_OUTPUTS]:
        if difference.name in left_outputs and difference.other in right_outputs:
            tracer = DifferenceTracer(alignment, a, b, tolerance, difference, alignment.is_bit_exact)
            cause = tracer.find_cause(left_outputs[difference.name], right_outputs[difference.other])
            if cause is not None:
                yield difference, cause
