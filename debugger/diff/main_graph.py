"""Where outputs that differ come from, if no loop differs: what the main graphs computed, followed back from each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...runtime.graph import Graph, walk
from .cause import Tracer
from .correspondence import Correspondence
from .findings import Cause, Comparison
from .sides import ModelSide, Side, TraceSide
from .steps import named_outputs
from .values import Tolerance

#: Of so many outputs that differ it is asked where they come from.
MOST_OUTPUTS = 8


def cause_of_outputs(
    result: Comparison, left: Side, right: Side, alignment: Correspondence, tolerance: Tolerance
) -> Cause | None:
    """What makes outputs differ; None where a loop differs, which tells more, or nothing is known of main graphs."""
    if not all(loop.same for loop in result.loops):
        return None
    return first_of(alignment.left.graph, _causes(result, left, right, alignment, tolerance))


def first_of(graph: Graph, causes: Iterable[Cause]) -> Cause | None:
    """Of what makes several outputs differ, the node that runs first; without a node, the first cause."""
    found = list(causes)
    order = {node.name: k for k, node in reversed(list(enumerate(walk(graph))))}
    places = [len(order) if one.node is None else order.get(one.node.node, len(order)) for one in found]
    return found[places.index(min(places))] if found else None


def _causes(
    result: Comparison, left: Side, right: Side, alignment: Correspondence, tolerance: Tolerance
) -> Iterator[Cause]:
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
                yield cause
