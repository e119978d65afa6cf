"""Where outputs that differ come from, if no loop differs: what the main graphs computed, followed back from each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ....runtime.graph import Graph, walk
from ..align.correspondence import Correspondence
from ..report.findings import Cause, Comparison, Difference
from ..running.iteration_stream import outputs_by_name
from ..running.sides import ComparisonSide, ModelSide, TraceSide
from ..running.value_comparison import Tolerance
from .difference_tracer import DifferenceTracer

#: Of so many outputs that differ it is asked where they come from.
MAX_TRACED_OUTPUTS = 8


def trace_outputs(
    result: Comparison, left: ComparisonSide, right: ComparisonSide, alignment: Correspondence, tolerance: Tolerance
) -> None:
    """Tell what makes outputs differ, unless a loop differs, which tells more."""
    if all(loop.same for loop in result.loops):
        record_first_output(result, alignment.left.graph, _output_causes(result, left, right, alignment, tolerance))


def record_first_output(result: Comparison, graph: Graph, causes: Iterable[tuple[Difference, Cause]]) -> None:
    """Of outputs with what makes them differ tell that of the node that runs first; without a node, the first one."""
    order = {node.name: k for k, node in reversed(list(enumerate(walk(graph))))}

    def place(found: tuple[Difference, Cause]) -> int:
        node = found[1].node
        return len(order) if node is None else order.get(node.node, len(order))

    first = min(causes, key=place, default=None)
    if first is not None:
        result.first_output, result.cause = first


def _output_causes(
    result: Comparison, left: ComparisonSide, right: ComparisonSide, alignment: Correspondence, tolerance: Tolerance
) -> Iterator[tuple[Difference, Cause]]:
    """Of each output that differs, as far as that is known."""
    if not isinstance(left, ModelSide | TraceSide) or not isinstance(right, ModelSide | TraceSide):
        return
    ours, theirs = left.final_reader, right.final_reader
    if ours is None or theirs is None:
        return
    here, there = outputs_by_name(alignment.left.graph), outputs_by_name(alignment.right.graph)
    for one in result.outputs[:MAX_TRACED_OUTPUTS]:
        if one.name in here and one.other in there:
            tracer = DifferenceTracer(alignment, ours, theirs, tolerance, one, alignment.is_bit_exact)
            cause = tracer.find_cause(here[one.name], there[one.other])
            if cause is not None:
                yield one, cause
