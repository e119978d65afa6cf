"""A part of a picture that is too large to be seen: what is near a box, and what the condition depends on."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from .graph_view import BackEdgeArc, BoxKind, GraphView, GraphWire

#: Larger pictures are seen in part; so many of the boxes are for what the condition depends on.
MAX_BOXES, MAX_CONDITION_BOXES = 60, 20


def focus_subgraph(picture: GraphView, focus: int, most: int = MAX_BOXES) -> GraphView:
    """The boxes nearest to one, and those through which the condition comes from what it depends on.

    A picture of at most ``most`` boxes is itself. The boxes keep their order; :attr:`~.records.Picture.hidden` counts
    what is left out around each, and :attr:`~.records.Picture.whole` is the picture that was given.
    """
    if len(picture.boxes) <= most:
        return picture
    kept = set(
        _breadth_first(_condition_sources(picture), _condition_boxes(picture), min(MAX_CONDITION_BOXES, most // 3))
    )
    around = _neighbours(picture)
    for box in _by_distance(around, focus):
        if len(kept) >= most:
            break
        kept.add(box)
    return _restrict_view(picture, sorted(kept), around)


def _condition_boxes(picture: GraphView) -> list[int]:
    return [k for k, box in enumerate(picture.boxes) if box.kind is BoxKind.CONDITION]


def _condition_sources(picture: GraphView) -> list[list[int]]:
    """By box, those that it reads, of what the condition depends on."""
    found: list[list[int]] = [[] for _ in picture.boxes]
    for wire in picture.wires:
        for reader in wire.readers if picture.boxes[wire.source].affects_condition else ():
            found[reader].append(wire.source)
    return found


def _neighbours(picture: GraphView) -> list[list[int]]:
    """By box, those at the other ends of its wires; of a value that many read, its maker and not each other."""
    found: list[list[int]] = [[] for _ in picture.boxes]
    for wire in picture.wires:
        for reader in wire.readers:
            found[reader].append(wire.source)
            found[wire.source].append(reader)
    for arc in picture.arcs:
        found[arc.source].append(arc.target)
        found[arc.target].append(arc.source)
    return found


def _breadth_first(near: Sequence[Sequence[int]], begin: Iterable[int], most: int) -> Iterator[int]:
    """Boxes from some on, by how many wires away they are; at most so many."""
    seen = dict.fromkeys(begin)
    waiting = deque(seen)
    while waiting and most > 0:
        box = waiting.popleft()
        most -= 1
        yield box
        fresh = [other for other in near[box] if other not in seen]
        seen.update(dict.fromkeys(fresh))
        waiting += dict.fromkeys(fresh)


def _by_distance(around: Sequence[Sequence[int]], focus: int) -> Iterator[int]:
    """All boxes: those that are joined to one, by how many wires away they are, then those joined to the box that is
    next to it in order, and so on."""
    seen: set[int] = set()
    for begin in sorted(range(len(around)), key=lambda box: abs(box - focus)):
        if begin not in seen:
            joined = list(_breadth_first(around, [begin], len(around)))
            seen.update(joined)
            yield from joined


def _restrict_view(picture: GraphView, boxes: Collection[int], around: Sequence[Sequence[int]]) -> GraphView:
    """A picture of some of the boxes, given in order."""
    new = {box: k for k, box in enumerate(boxes)}
    wires = [
        GraphWire(wire.value, new[wire.source], readers)
        for wire in picture.wires
        if wire.source in new and (readers := tuple(new[k] for k in wire.readers if k in new))
    ]
    arcs = [
        BackEdgeArc(arc.edge, new[arc.source], new[arc.target])
        for arc in picture.arcs
        if arc.source in new and arc.target in new
    ]
    hidden = {new[box]: len({other for other in around[box] if other not in new}) for box in boxes}
    return replace(
        picture,
        boxes=tuple(picture.boxes[box] for box in boxes),
        wires=tuple(wires),
        arcs=tuple(arcs),
        hidden_neighbours={box: count for box, count in hidden.items() if count},
        full_view=picture,
    )
