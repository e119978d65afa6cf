"""Where the boxes of a picture stand: in layers, each below those that it reads, ordered so that few wires cross.

Sugiyama's method, with a wire's bends shared by its readers. Where a wire passes by many layers it runs beside all of
them, in a lane: so what a deep graph carries through costs neither room in each layer nor time.

Not a library's: of 1 000 nodes grandalf 0.8 takes one to three seconds, this 0.1, and what is faster has to be compiled
on older systems.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from .graph_view import INPUT_KINDS, OUTPUT_KINDS, BoxKind, GraphView

#: Rounds of ordering, and of moving items below and above their neighbours.
_ORDERING_ROUNDS, _POSITIONING_ROUNDS = 4, 4
#: A wire that passes by more layers than this, from one of its ends or readers to the next, does so in a lane.
_LANE_MIN_LAYERS = 16
#: How much a straight line is worth between two bends, between a bend and a box, between two boxes.
_STRAIGHTNESS_WEIGHTS = (8.0, 2.0, 1.0)
#: What carries a value stands in the first layer, as what the loop itself counts.
_FIRST_LAYER_KINDS = frozenset({BoxKind.CARRIED, BoxKind.SLICED, BoxKind.ITERATION, BoxKind.INPUT})


@dataclass(frozen=True, eq=False)
class LayeredLayout:
    """``layers``: the items of each layer, from left to right: boxes by their index, then bends. ``center``: how far
    right each item's middle is; ``rank``: its layer. ``bends``: by wire, the items that it goes through, by layer;
    where it runs beside them it is one item in all, which is in no layer. ``lanes``: of those items how far outside
    each is, left of everything, 0 next to it."""

    layers: tuple[tuple[int, ...], ...]
    centers: tuple[float, ...]
    ranks: tuple[int, ...]
    bends: tuple[dict[int, int], ...]
    lanes: dict[int, int]

    def item_above(self, wire: int, source: int, layer: int) -> int:
        """The item of a wire in a layer: a bend, or the box that it comes from."""
        return self.bends[wire].get(layer, source)

    def runs_in_lane(self, wire: int, layer: int) -> bool:
        """Whether a wire runs in a lane from a layer to the next."""
        bends = self.bends[wire]
        item = bends.get(layer, -1)
        return item in self.lanes and bends.get(layer + 1) == item


def compute_layout(picture: GraphView, widths: Sequence[float], gap: float, bend: float) -> LayeredLayout:
    """The place of every box. ``widths``: of the boxes; ``gap``: between two of them; ``bend``: what a bend takes."""
    rank = _assign_ranks(picture)
    bends, ranks, spans = _route_wires(picture, rank)
    lanes = _assign_lanes(spans)
    links = [(a, b) for a, b in _adjacent_links(picture, ranks, bends) if a not in lanes and b not in lanes]
    order = _order_layers(ranks, links, picture)
    sizes = [*widths, *[bend] * (len(ranks) - len(widths))]
    center = _assign_centers(order, links, sizes, gap, bend, len(widths))
    left = min([center[k] - sizes[k] / 2 for layer in order for k in layer], default=0.0)
    for item, lane in lanes.items():
        center[item] = left - gap - 2 * bend * lane
    return LayeredLayout(tuple(map(tuple, order)), tuple(center), tuple(ranks), tuple(bends), lanes)


def _assign_ranks(picture: GraphView) -> list[int]:
    """Each box below all that it reads; results last; what is read from outside just above its first reader."""
    boxes = picture.boxes
    reads: list[list[int]] = [[] for _ in boxes]
    readers: list[list[int]] = [[] for _ in boxes]
    for wire in picture.wires:
        readers[wire.source] += wire.readers
        for reader in wire.readers:
            reads[reader].append(wire.source)
    entering = any(box.kind in INPUT_KINDS for box in boxes)
    rank = [0] * len(boxes)
    for k, box in enumerate(boxes):
        rank[k] = max([rank[j] + 1 for j in reads[k]], default=0 if box.kind in INPUT_KINDS or not entering else 1)
    inner = [rank[k] for k, box in enumerate(boxes) if box.kind not in OUTPUT_KINDS]
    last = max(inner, default=0) + 1
    for k in reversed(range(len(boxes))):
        if boxes[k].kind in OUTPUT_KINDS:
            rank[k] = last
        elif not reads[k] and boxes[k].kind not in _FIRST_LAYER_KINDS:
            rank[k] = max(0, min([rank[j] for j in readers[k]], default=1) - 1)
    return rank


def _route_wires(
    picture: GraphView, rank: Sequence[int]
) -> tuple[list[dict[int, int]], list[int], dict[int, tuple[int, int]]]:
    """The bends of each wire, one in each layer that it passes by, or one beside many layers; the layers of all items,
    -1 of those beside them; and from where to where those go."""
    ranks = list(rank)
    bends: list[dict[int, int]] = []
    spans: dict[int, tuple[int, int]] = {}
    for wire in picture.wires:
        found: dict[int, int] = {}
        stops = sorted({rank[wire.source], *[rank[k] for k in wire.readers]})
        for above, below in pairwise(stops):
            passed = range(above + 1, below)
            if len(passed) > _LANE_MIN_LAYERS:
                spans[len(ranks)] = passed[0], passed[-1]
                found.update(dict.fromkeys(passed, len(ranks)))
                ranks.append(-1)
            else:
                found.update(zip(passed, range(len(ranks), len(ranks) + len(passed)), strict=True))
                ranks += passed
            if below < stops[-1]:
                found[below] = len(ranks)
                ranks.append(below)
        bends.append(found)
    return bends, ranks, spans


def _assign_lanes(spans: Mapping[int, tuple[int, int]]) -> dict[int, int]:
    """The lane of each item beside the layers: those that pass by the same layer have two."""
    lanes: dict[int, int] = {}
    ends: list[int] = []
    for item, (first, last) in sorted(spans.items(), key=lambda one: one[1]):
        # The next begins where this one's reader stands, and turns in the row below.
        lane = next((k for k, end in enumerate(ends) if end + 1 < first), len(ends))
        if lane == len(ends):
            ends.append(last)
        ends[lane] = last
        lanes[item] = lane
    return lanes


def _adjacent_links(picture: GraphView, ranks: Sequence[int], bends: Sequence[dict[int, int]]) -> list[tuple[int, int]]:
    """The pairs of items of neighbouring layers that a wire joins."""
    links: list[tuple[int, int]] = []
    for wire, found in zip(picture.wires, bends, strict=True):
        links += pairwise([wire.source, *dict.fromkeys(found.values())])
        links += [(found.get(ranks[k] - 1, wire.source), k) for k in wire.readers]
    return links


def _neighbours(count: int, links: Sequence[tuple[int, int]]) -> tuple[list[list[int]], list[list[int]]]:
    up: list[list[int]] = [[] for _ in range(count)]
    down: list[list[int]] = [[] for _ in range(count)]
    for a, b in links:
        up[b].append(a)
        down[a].append(b)
    return up, down


def _order_layers(ranks: Sequence[int], links: Sequence[tuple[int, int]], picture: GraphView) -> list[list[int]]:
    """The items of each layer in the order with the fewest crossings that was met."""
    up, down = _neighbours(len(ranks), links)
    # A back edge holds its two ends below each other.
    partner = {arc.target: arc.source for arc in picture.arcs}
    order: list[list[int]] = [[] for _ in range(max(ranks, default=-1) + 1)]
    for item, rank in enumerate(ranks):
        if rank >= 0:
            order[rank].append(item)
    best, fewest = order, _count_crossings(order, down)
    for turn in range(2 * _ORDERING_ROUNDS):
        if not fewest:
            break
        order = _order_by_barycenter(order, down if turn % 2 else up, turn % 2 == 1, partner if turn else {})
        crossings = _count_crossings(order, down)
        if crossings < fewest:
            best, fewest = order, crossings
    return best


def _order_by_barycenter(
    order: Sequence[Sequence[int]], near: Sequence[Sequence[int]], upwards: bool, partner: dict[int, int]
) -> list[list[int]]:
    """Each layer ordered by the middle of its neighbours in the one before, which was ordered so just now."""
    found: list[list[int]] = [list(layer) for layer in order]
    place = {item: float(k) for layer in order for k, item in enumerate(layer)}
    for at in reversed(range(len(order))) if upwards else range(len(order)):
        layer = found[at]
        middle = {}
        for item in layer:
            others = near[item] or ([partner[item]] if item in partner else [])
            middle[item] = sum([place[other] for other in others]) / len(others) if others else place[item]
        layer.sort(key=middle.__getitem__)
        place.update((item, float(k)) for k, item in enumerate(layer))
    return found


def _count_crossings(order: Sequence[Sequence[int]], down: Sequence[Sequence[int]]) -> int:
    """How many pairs of links cross."""
    count = 0
    for upper, lower in pairwise(order):
        place = {item: k for k, item in enumerate(lower)}
        seen: list[int] = []
        for item in upper:
            ends = sorted([place[other] for other in down[item]])
            count += sum([len(seen) - bisect_right(seen, end) for end in ends])
            for end in ends:
                insort(seen, end)
    return count


def _assign_centers(
    order: Sequence[Sequence[int]],
    links: Sequence[tuple[int, int]],
    sizes: Sequence[float],
    gap: float,
    bend: float,
    boxes: int,
) -> list[float]:
    """The middle of every item: near those of its neighbours, in the order of its layer, and apart from the next."""
    up, down = _neighbours(len(sizes), links)
    apart = [
        [(sizes[a] + sizes[b]) / 2 + (gap if a < boxes or b < boxes else bend) for a, b in pairwise(layer)]
        for layer in order
    ]
    center = [0.0] * len(sizes)
    for layer, between in zip(order, apart, strict=True):
        for item, at in zip(layer, accumulate(between, initial=-sum(between) / 2), strict=False):
            center[item] = at
    for turn in range(2 * _POSITIONING_ROUNDS + 1):
        near = (up, down)[turn % 2]
        steps = range(len(order)) if turn % 2 == 0 else reversed(range(len(order)))
        for at in steps:
            layer = order[at]
            wanted, weight = [], []
            for item in layer:
                others = near[item] or (up, down)[1 - turn % 2][item]
                worth = [_STRAIGHTNESS_WEIGHTS[(item < boxes) + (other < boxes)] for other in others]
                total = sum(worth)
                pulled = sum([w * center[other] for w, other in zip(worth, others, strict=True)])
                wanted.append(pulled / total if total else center[item])
                weight.append(total or 0.1)
            for item, x in zip(layer, _isotonic_positions(wanted, weight, apart[at]), strict=True):
                center[item] = x
    return center


def _isotonic_positions(wanted: Sequence[float], weight: Sequence[float], apart: Sequence[float]) -> list[float]:
    """Places as near to those that are wanted as the distances between neighbours allow: a regression by pools."""
    offset = [0.0]
    for step in apart:
        offset.append(offset[-1] + step)
    pools: list[tuple[float, float, int]] = []
    for x, w, shift in zip(wanted, weight, offset, strict=False):
        mean, total, count = x - shift, w, 1
        while pools and pools[-1][0] > mean:
            other, more, n = pools.pop()
            mean = (mean * total + other * more) / (total + more)
            total, count = total + more, count + n
        pools.append((mean, total, count))
    spread = [mean for mean, _, count in pools for _ in range(count)]
    return [x + shift for x, shift in zip(spread, offset, strict=False)]
