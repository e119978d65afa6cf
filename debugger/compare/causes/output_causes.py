"""Traces differing outputs back through the main graphs if no loop differs."""

from __future__ import annotations

from collections.abc import Iterable

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
    if not isinstance(left, ModelSide | TraceSide) or not isinstance(right, ModelSide | TraceSide):
        return
    a, b = left.final_reader, right.final_reader
    if a is None or b is None or not all(loop.same for loop in result.loops):
        return
    lefts, rights = (outputs_by_name(graph) for graph in alignment.graphs)
    causes = (
        (item, tracer.find_cause(lefts[item.name], rights[item.other]))
        for item in result.outputs[:MAX_TRACED_OUTPUTS]
        if item.name in lefts and item.other in rights
        for tracer in (DifferenceTracer(alignment, a, b, tolerance, item, alignment.is_bit_exact),)
    )
    record_first_differing_output(result, alignment.graphs[0], causes)


def record_first_differing_output(
    result: Comparison, graph: Graph, causes: Iterable[tuple[Difference, Cause | None]]
) -> None:
    """Record the output whose causing node runs first; without a node, the first output with a known cause."""
    order = {node.name: k for k, node in reversed(list(enumerate(walk(graph))))}

    def position(item: tuple[Difference, Cause]) -> int:
        node = item[1].node
        return len(order) if node is None else order.get(node.node, len(order))

    known = [(difference, cause) for difference, cause in causes if cause is not None]
    first = min(known, key=position, default=None)
    if first is not None:
        result.first_output, result.cause = first
