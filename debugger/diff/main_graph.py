"""Where outputs that differ come from, if no loop differs: what the main graphs computed, followed back from each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...runtime.graph import Graph, walk
from .cause import Tracer
from .correspondence import Correspondence
from .findings import Cause, Comparison, Difference
from .sides import ModelSide, Side, TraceSide
from .steps import named_outputs
from .values import Tolerance

#: Of so many outputs that differ it is asked where they come from.
MOST_OUTPUTS = 8


def follow_outputs(
    result: Comparison, left: Side, right: Side, alignment: Correspondence, tolerance: Tolerance
) -> None:
    """Tell what makes outputs differ, unless a loop differs, which tells more."""
    if all(loop.same for loop in result.loops):
        tell_first(result, alignment.left.graph, _causes(result, left, right, alignment, tolerance))


def tell_first(result: Comparison, graph: Graph, causes: Iterable[tuple[Difference, Cause]]) -> None:
    """Of outputs with what makes them differ tell that of the node that runs first; without a node, the first one."""
    order = {node.name: k for k, node in reversed(list(enumerate(walk(graph))))}

    def place(found: tuple[Difference, Cause]) -> int:
        node = found[1].node
        return len(order) if node is None else order.get(node.node, len(order))

    first = min(causes, key=place, default=None)
    if first is not None:
        result.first_output, result.cause = first


def _causes(
    result: Comparison, left: Side, right: Side, alignment: Correspondence, tolerance: Tolerance
) -> Iterator[tuple[Difference, Cause]]:
    """Of each output that differs, as far as that is known."""
    if not isinstance(left, ModelSide | TraceSide) or not isinstance(right, ModelSide | TraceSide):
        return
    ours, theirs = left.ended, right.ended
    if ours is None or theirs is None:
        return
    here, there = named_outputs(alignment.left.graph), named_outputs(alignment.right.graph)
    for one in result.outputs[:MOST_OUTPUTS]:
        if one.name in here and one.other in there:
            tracer = Tracer(alignment, ours, theirs, tolerance, one, alignment.exact)
            cause = tracer.cause(here[one.name], there[one.other])
            if cause is not None:
                yield one, cause
