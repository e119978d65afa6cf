"""Layered graph layout: each box is below the boxes it reads, ordered to reduce crossings.

Sugiyama's method, with the bends of a wire shared by its readers. A wire that spans many layers runs next to them in a
lane, so that long wires of deep graphs cost neither width in each layer nor time.

No library is used: for 1 000 nodes grandalf 0.8 takes one to three seconds, this code 0.1; faster libraries need a
compiler on older systems.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from .graph_view import INPUT_KINDS, OUTPUT_KINDS, BoxKind, GraphView

#: The number of ordering rounds, and of positioning rounds.
_ORDERING_ROUNDS, _POSITIONING_ROUNDS = 4, 4
#: A wire segment that spans more layers than this runs in a lane.
_LANE_MIN_LAYERS = 16
#: The weight of straightness between two bends, a bend and a box, and two boxes.
_STRAIGHTNESS_WEIGHTS = (8.0, 2.0, 1.0)
#: The kinds of boxes in the first layer.
_FIRST_LAYER_KINDS = frozenset({BoxKind.CARRIED, BoxKind.SLICED, BoxKind.ITERATION, BoxKind.INPUT})


@dataclass(frozen=True, eq=False)
class LayeredLayout:
    """A computed layout. ``layers``: the items of each layer from left to right: box indices, then bends. ``centers``:
    the x coordinate of each item; ``ranks``: its layer. ``bends``: by wire, the item in each layer; in a lane one item
    for all layers, which is in none. ``lanes``: the lane of those items, 0 next to the layers, growing to the left."""

    layers: tuple[tuple[int, ...], ...]
    centers: tuple[float, ...]
    ranks: tuple[int, ...]
    bends: tuple[dict[int, int], ...]
    lanes: dict[int, int]

    def wire_item_in_layer(self, wire: int, source: int, layer: int) -> int:
        """The item of a wire in a layer: a bend, or the source box."""
        return self.bends[wire].get(layer, source)

    def is_routed_in_lane(self, wire: int, layer: int) -> bool:
        """Whether a wire runs in a lane between a layer and the next."""
        bends = self.bends[wire]
        item = bends.get(layer, -1)
        return item in self.lanes and bends.get(layer + 1) == item


def compute_layout(view: GraphView, widths: Sequence[float], gap: float, bend: float) -> LayeredLayout:
    """Compute the layout. ``widths``: of the boxes; ``gap``: between two boxes; ``bend``: the width of a bend."""
    rank = _assign_ranks(view)
    bends, ranks, spans = _route_wires(view, rank)
    lanes = _assign_lanes(spans)
    links = [(a, b) for a, b in _adjacent_links(view, ranks, bends) if a not in lanes and b not in lanes]
    order = _order_layers(ranks, links, view)
    sizes = [*widths, *[bend] * (len(ranks) - len(widths))]
    center = _assign_centers(order, links, sizes, gap, bend, len(widths))
    left = min([center[k] - sizes[k] / 2 for layer in order for k in layer], default=0.0)
    for item, lane in lanes.items():
        center[item] = left - gap - 2 * bend * lane
    return LayeredLayout(tuple(map(tuple, order)), tuple(center), tuple(ranks), tuple(bends), lanes)


def _assign_ranks(view: GraphView) -> list[int]:
    """Assign layers: each box below all it reads, outputs last, captures just above their first reader."""
    boxes = view.boxes
    reads: list[list[int]] = [[] for _ in boxes]
    readers: list[list[int]] = [[] for _ in boxes]
    for wire in view.wires:
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
    view: GraphView, rank: Sequence[int]
) -> tuple[list[dict[int, int]], list[int], dict[int, tuple[int, int]]]:
    """The bends of each wire, one per layer or one for a lane; the ranks of all items, -1 in a lane; and the range of
    layers of each lane item."""
    ranks = list(rank)
    bends: list[dict[int, int]] = []
    spans: dict[int, tuple[int, int]] = {}
    for wire in view.wires:
        path: dict[int, int] = {}
        stops = sorted({rank[wire.source], *[rank[k] for k in wire.readers]})
        for upper, lower in pairwise(stops):
            span = range(upper + 1, lower)
            if len(span) > _LANE_MIN_LAYERS:
                spans[len(ranks)] = span[0], span[-1]
                path.update(dict.fromkeys(span, len(ranks)))
                ranks.append(-1)
            else:
                path.update(zip(span, range(len(ranks), len(ranks) + len(span)), strict=True))
                ranks += span
            if lower < stops[-1]:
                path[lower] = len(ranks)
                ranks.append(lower)
        bends.append(path)
    return bends, ranks, spans


def _assign_lanes(spans: Mapping[int, tuple[int, int]]) -> dict[int, int]:
    """Assign a lane to each lane item; items with overlapping ranges get different lanes."""
    lanes: dict[int, int] = {}
    ends: list[int] = []
    for item, (first, last) in sorted(spans.items(), key=lambda span: span[1]):
        # The next item may begin at the layer of this one's reader, as it turns in the row below.
        lane = next((k for k, end in enumerate(ends) if end + 1 < first), len(ends))
        if lane == len(ends):
            ends.append(last)
        ends[lane] = last
        lanes[item] = lane
    return lanes


def _adjacent_links(view: GraphView, ranks: Sequence[int], bends: Sequence[dict[int, int]]) -> list[tuple[int, int]]:
    """The pairs of items in adjacent layers that a wire connects."""
    links: list[tuple[int, int]] = []
    for wire, path in zip(view.wires, bends, strict=True):
        links += pairwise([wire.source, *dict.fromkeys(path.values())])
        links += [(path.get(ranks[k] - 1, wire.source), k) for k in wire.readers]
    return links


def _neighbours(count: int, links: Sequence[tuple[int, int]]) -> tuple[list[list[int]], list[list[int]]]:
    up: list[list[int]] = [[] for _ in range(count)]
    down: list[list[int]] = [[] for _ in range(count)]
    for a, b in links:
        up[b].append(a)
        down[a].append(b)
    return up, down


def _order_layers(ranks: Sequence[int], links: Sequence[tuple[int, int]], view: GraphView) -> list[list[int]]:
    """The best order of the items found, by the number of crossings."""
    up, down = _neighbours(len(ranks), links)
    # A back edge aligns its two ends.
    partner = {arc.target: arc.source for arc in view.arcs}
    order: list[list[int]] = [[] for _ in range(max(ranks, default=-1) + 1)]
    for item, rank in enumerate(ranks):
        if rank >= 0:
            order[rank].append(item)
    best, fewest = order, _count_crossings(order, down)
    for sweep in range(2 * _ORDERING_ROUNDS):
        if not fewest:
            break
        order = _order_by_barycenter(order, down if sweep % 2 else up, sweep % 2 == 1, partner if sweep else {})
        crossings = _count_crossings(order, down)
        if crossings < fewest:
            best, fewest = order, crossings
    return best


def _order_by_barycenter(
    order: Sequence[Sequence[int]], neighbours: Sequence[Sequence[int]], upwards: bool, partner: dict[int, int]
) -> list[list[int]]:
    """Order each layer by the barycenters of its neighbours in the layer before."""
    layers: list[list[int]] = [list(layer) for layer in order]
    position = {item: float(k) for layer in order for k, item in enumerate(layer)}
    for rank in reversed(range(len(order))) if upwards else range(len(order)):
        layer = layers[rank]
        middle = {}
        for item in layer:
            adjacent = neighbours[item] or ([partner[item]] if item in partner else [])
            middle[item] = sum([position[other] for other in adjacent]) / len(adjacent) if adjacent else position[item]
        layer.sort(key=middle.__getitem__)
        position.update((item, float(k)) for k, item in enumerate(layer))
    return layers


def _count_crossings(order: Sequence[Sequence[int]], down: Sequence[Sequence[int]]) -> int:
    """The number of pairs of links that cross."""
    count = 0
    for upper, lower in pairwise(order):
        position = {item: k for k, item in enumerate(lower)}
        seen: list[int] = []
        for item in upper:
            ends = sorted([position[other] for other in down[item]])
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
    """The x coordinate of every item: near its neighbours, in the order of its layer, with minimum distances."""
    up, down = _neighbours(len(sizes), links)
    distances = [
        [(sizes[a] + sizes[b]) / 2 + (gap if a < boxes or b < boxes else bend) for a, b in pairwise(layer)]
        for layer in order
    ]
    center = [0.0] * len(sizes)
    for layer, gaps in zip(order, distances, strict=True):
        for item, position in zip(layer, accumulate(gaps, initial=-sum(gaps) / 2), strict=False):
            center[item] = position
    for sweep in range(2 * _POSITIONING_ROUNDS + 1):
        neighbours = (up, down)[sweep % 2]
        steps = range(len(order)) if sweep % 2 == 0 else reversed(range(len(order)))
        for position in steps:
            layer = order[position]
            targets, weight = [], []
            for item in layer:
                adjacent = neighbours[item] or (up, down)[1 - sweep % 2][item]
                weights = [_STRAIGHTNESS_WEIGHTS[(item < boxes) + (other < boxes)] for other in adjacent]
                total = sum(weights)
                pull = sum([w * center[other] for w, other in zip(weights, adjacent, strict=True)])
                targets.append(pull / total if total else center[item])
                weight.append(total or 0.1)
            for item, x in zip(layer, _isotonic_positions(targets, weight, distances[position]), strict=True):
                center[item] = x
    return center


def _isotonic_positions(targets: Sequence[float], weight: Sequence[float], distances: Sequence[float]) -> list[float]:
    """The positions nearest to the wanted ones with minimum distances: isotonic regression by pooling (PAVA)."""
    offset = [0.0]
    for step in distances:
        offset.append(offset[-1] + step)
    pools: list[tuple[float, float, int]] = []
    for x, w, shift in zip(targets, weight, offset, strict=False):
        mean, total, count = x - shift, w, 1
        while pools and pools[-1][0] > mean:
            pool_mean, pool_weight, pool_size = pools.pop()
            mean = (mean * total + pool_mean * pool_weight) / (total + pool_weight)
            total, count = total + pool_weight, count + pool_size
        pools.append((mean, total, count))
    spread = [mean for mean, _, count in pools for _ in range(count)]
    return [x + shift for x, shift in zip(spread, offset, strict=False)]
