"""The cells of a graph: every wire and every back edge leads from its source box to its target box in any loop, and
boxes do not overlap."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import pairwise

import pytest

from loopdbg.debugger import graphview
from loopdbg.debugger.describe.node_text import NodeFormatter
from loopdbg.debugger.graphview.build_view import build_graph_view
from loopdbg.debugger.graphview.focus_subgraph import focus_subgraph
from loopdbg.debugger.graphview.graph_view import GraphView
from loopdbg.runtime.graph import Graph, loops
from loopdbg.runtime.graph.producers import ProducerMap
from loopdbg.tui.render.graphview.layout import (
    ARC_LABEL_CELLS,
    DetailLevel,
    GraphLayout,
    PlacedBox,
    Point,
    layout_graph,
)
from random_program_checks import load_program
from strategies import program_generator
from strategies.draws import SeededChoices
from text_models import model

FEATURES = (("nested", "growing"), ("condition", "direct", "delayed"), ("scan", "nested"), ("openvino", "nested"))


def pictures(main: Graph) -> Iterator[GraphView]:
    """Pictures of every loop, and excerpts around their last boxes."""
    phrases = NodeFormatter(ProducerMap.for_graph(main))
    for loop in loops(main):
        whole = build_graph_view(loop.body, loop, phrases)
        yield whole
        yield focus_subgraph(whole, len(whole.boxes) - 1)


def assert_leads(way: list[Point], source: PlacedBox, target: PlacedBox) -> None:
    """A path of straight segments, from below one box to above another."""
    assert source.left <= way[0][0] < source.right and way[0][1] == source.top + source.height
    assert target.left <= way[-1][0] < target.right and way[-1][1] == target.top - 1
    assert all((a == c) or (b == d) for (a, b), (c, d) in pairwise(way))


def assert_free(way: list[Point], chips: Collection[PlacedBox]) -> None:
    """No vertical segment runs through a box."""
    for (x, y), (x_to, y_to) in pairwise(way):
        if x == x_to:
            low, high = sorted((y, y_to))
            through = [
                chip for chip in chips if chip.left <= x < chip.right and low < chip.top + chip.height - 1 < high
            ]
            assert not through


def assert_places(places: GraphLayout) -> None:
    """All of a picture lies in cells."""
    picture, chips = places.picture, places.placed_boxes
    taken = [(column, row) for chip in chips for row in range(chip.top, chip.top + chip.height)
             for column in range(chip.left, chip.right)]  # fmt: skip
    assert len(taken) == len(set(taken))
    assert all(0 <= x < places.width and 0 <= y < places.height for x, y in taken)
    for wire, ways in zip(picture.wires, places.wires, strict=True):
        assert set(ways) == set(wire.readers)
        for reader, way in ways.items():
            assert_leads(way, chips[wire.source], chips[reader])
            assert_free(way, chips)
    assert {arc for arc, _, _ in places.arcs} == set(picture.arcs)
    for arc, way, _ in places.arcs:
        assert_leads(way, chips[arc.source], chips[arc.target])
        # Around the right side, outside of everything inside.
        assert max(x for x, _ in way) >= max(chip.right for chip in chips)
    for _, way, (left, row) in places.arcs:
        # A label at an arc is on that arc alone, and within the picture.
        assert way[1][0] < left and left + ARC_LABEL_CELLS <= way[2][0] < places.width and row == way[1][1]
        assert all(row >= chip.top + chip.height for chip in chips)
        crossing = {
            x
            for _, other, _ in places.arcs
            for (x, y), (x_to, y_to) in pairwise(other)
            if x == x_to and min(y, y_to) < row < max(y, y_to)
        }
        assert not crossing.intersection(range(left, left + ARC_LABEL_CELLS))
    sides = [max(x for x, _ in way) for _, way, _ in places.arcs]
    assert len(sides) == len(set(sides))


@pytest.mark.parametrize("level", DetailLevel)
@pytest.mark.parametrize("features", FEATURES, ids="-".join)
def test_cells_of_random_loops(features: Collection[str], level: DetailLevel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graphview.focus_subgraph, "MAX_BOXES", 12)
    monkeypatch.setattr(graphview.focus_subgraph, "MAX_CONDITION_BOXES", 4)
    arcs = 0
    for n in range(8):
        for picture in pictures(
            load_program(program_generator.draw_program(SeededChoices(f"cells {n}"), features)).graph
        ):
            assert_places(layout_graph(picture, level))
            arcs += len(picture.arcs)
    assert arcs > 8


CHAIN = """
chain (int64 n, float[4] a0, float[4] b0) => (float[4] a, float[4] b) {
  a, b = Loop <body = body (int64 i, bool c, float[4] x, float[4] y) => (bool go, float[4] z, float[4] early) {
    go = Identity (c)
    early = Neg (x)
    NODES
    z = Add (t, y)
  }> (n, , a0, b0)
}
"""


def test_edges_past_many_nodes_run_next_to_the_boxes() -> None:
    names = ["early", *(f"t{k}" for k in range(40)), "t"]
    nodes = "\n".join(f"{b} = Tanh ({a})" for a, b in pairwise(names))
    places = layout_graph(next(pictures(model(CHAIN.replace("NODES", nodes)).graph)), DetailLevel.VALUES)
    assert places.height > 80
    assert_places(places)
    # Next to all boxes, on the left.
    (wire,) = (k for k, wire in enumerate(places.picture.wires) if wire.value.name == "y")
    (way,) = places.wires[wire].values()
    assert min(x for x, _ in way) < min(chip.left for chip in places.placed_boxes)
