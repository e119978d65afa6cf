"""Restricts a large view to the neighbourhood of a box and the sources of the condition."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from .graph_view import BackEdgeArc, BoxKind, GraphView, GraphWire

#: The maximum number of boxes, and how many of them are reserved for the sources of the condition.
MAX_BOXES, MAX_CONDITION_BOXES = 60, 20


def focus_subgraph(view: GraphView, focus: int) -> GraphView:
    """Keep the boxes nearest to one, and the sources of the condition.

    A view of at most :data:`MAX_BOXES` boxes is returned as is. The boxes keep their order; ``hidden_neighbours``
    counts the omitted neighbours of each, and ``full_view`` is the original view.
    """
    if len(view.boxes) <= MAX_BOXES:
        return view
    boxes = set(_breadth_first(_condition_sources(view), _condition_boxes(view), MAX_CONDITION_BOXES))
    neighbours = _neighbours(view)
    for box in _boxes_by_distance(neighbours, focus):
        if len(boxes) >= MAX_BOXES:
            break
        boxes.add(box)
    return _restrict_view(view, sorted(boxes), neighbours)


def _condition_boxes(view: GraphView) -> list[int]:
    return [k for k, box in enumerate(view.boxes) if box.kind is BoxKind.CONDITION]


def _condition_sources(view: GraphView) -> list[list[int]]:
    """By box, the boxes it reads that affect the condition."""
    sources: list[list[int]] = [[] for _ in view.boxes]
    for wire in view.wires:
        for reader in wire.readers if view.boxes[wire.source].affects_condition else ():
            sources[reader].append(wire.source)
    return sources


def _neighbours(view: GraphView) -> list[list[int]]:
    """By box, the boxes at the other ends of its wires; readers of one value are not neighbours."""
    neighbours: list[list[int]] = [[] for _ in view.boxes]
    for wire in view.wires:
        for reader in wire.readers:
            neighbours[reader].append(wire.source)
            neighbours[wire.source].append(reader)
    for arc in view.arcs:
        neighbours[arc.source].append(arc.target)
        neighbours[arc.target].append(arc.source)
    return neighbours


def _breadth_first(neighbours: Sequence[Sequence[int]], start: Iterable[int], limit: int) -> Iterator[int]:
    """Boxes in order of distance from the start boxes, at most ``limit``."""
    visited = dict.fromkeys(start)
    queue = deque(visited)
    while queue and limit > 0:
        box = queue.popleft()
        limit -= 1
        yield box
        unseen = [other for other in neighbours[box] if other not in visited]
        visited.update(dict.fromkeys(unseen))
        queue += dict.fromkeys(unseen)


def _boxes_by_distance(neighbours: Sequence[Sequence[int]], focus: int) -> Iterator[int]:
    """All boxes: the connected component of the focus by distance, then the components of the boxes next to it in
    order, and so on."""
    visited: set[int] = set()
    for start in sorted(range(len(neighbours)), key=lambda box: abs(box - focus)):
        if start not in visited:
            component = list(_breadth_first(neighbours, [start], len(neighbours)))
            visited.update(component)
            yield from component


def _restrict_view(view: GraphView, boxes: Collection[int], neighbours: Sequence[Sequence[int]]) -> GraphView:
    """The view of a subset of boxes, given in order."""
    new_index = {box: k for k, box in enumerate(boxes)}
    wires = [
        GraphWire(wire.value, new_index[wire.source], readers)
        for wire in view.wires
        if wire.source in new_index and (readers := tuple(new_index[k] for k in wire.readers if k in new_index))
    ]
    arcs = [
        BackEdgeArc(arc.edge, new_index[arc.source], new_index[arc.target])
        for arc in view.arcs
        if arc.source in new_index and arc.target in new_index
    ]
    hidden = {new_index[box]: len({other for other in neighbours[box] if other not in new_index}) for box in boxes}
    return replace(
        view,
        boxes=tuple(view.boxes[box] for box in boxes),
        wires=tuple(wires),
        arcs=tuple(arcs),
        hidden_neighbours={box: count for box, count in hidden.items() if count},
        full_view=view,
    )
