"""The picture of a loop agrees with its graph in back edges, reads and conditions, and nothing overlaps."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import pairwise

import numpy as np
import pytest

import loopdbg
from loopdbg.debugger.describe.node_text import NodeFormatter
from loopdbg.debugger.graphview.build_view import build_graph_view
from loopdbg.debugger.graphview.graph_view import INPUT_KINDS, OUTPUT_KINDS, BoxKind, GraphView
from loopdbg.debugger.graphview.layered_layout import LayeredLayout, compute_layout
from loopdbg.debugger.graphview.node_overlay import build_overlay, frames_by_loop
from loopdbg.runtime.graph import Graph, If, Loop, Node, bodies, loops
from loopdbg.runtime.graph.producers import ProducerMap
from random_program_checks import load_program
from strategies import program_generator
from strategies.draws import SeededChoices
from text_models import model, sample

FEATURES = (
    ("nested", "growing"),
    ("condition", "direct", "delayed"),
    ("scan", "nested"),
    ("rows", "products"),
    ("openvino", "nested", "direct"),
)


def pictures(main: Graph, opened: Collection[Node] = ()) -> Iterator[GraphView]:
    """Pictures of the main graph and of every loop."""
    phrases = NodeFormatter(ProducerMap.for_graph(main))
    yield build_graph_view(main, None, phrases, opened)
    for loop in loops(main):
        yield build_graph_view(loop.body, loop, phrases, opened)


def random_models(features: Collection[str]) -> Iterator[Graph]:
    for n in range(12):
        yield load_program(program_generator.draw_program(SeededChoices(f"pictures {n}"), features)).graph


def assert_back_edges(picture: GraphView) -> None:
    """Each arc leads from its back edge's result to the parameter that receives it."""
    loop = picture.loop
    edges = [] if loop is None else loop.back_edges
    assert [arc.edge for arc in picture.arcs if arc.edge is not None] == edges
    sources = {wire.value: wire.source for wire in picture.wires}
    for arc in picture.arcs:
        source, target = picture.boxes[arc.source], picture.boxes[arc.target]
        if arc.edge is None:
            assert loop is not None and (source.values, target.values) == ((loop.condition,), (loop.condition_input,))
            continue
        assert source.kind is BoxKind.RESULT and source.values == (arc.edge.result,)
        assert target.kind in INPUT_KINDS and target.values == (arc.edge.param,)
        # A carried value arrives by a wire from the box that computes it, unless it is a constant.
        if arc.edge.result in sources:
            assert arc.edge.result in picture.boxes[sources[arc.edge.result]].values
            wire = next(wire for wire in picture.wires if wire.value is arc.edge.result)
            assert arc.source in wire.readers


def assert_reads(picture: GraphView) -> None:
    """The operands of a node arrive at its box."""
    makers = {value: k for k, box in enumerate(picture.boxes) if box.kind not in OUTPUT_KINDS for value in box.values}
    coming = {(wire.value, reader) for wire in picture.wires for reader in wire.readers}
    for k, box in enumerate(picture.boxes):
        for value in () if box.node is None else box.node.inputs:
            assert value is None or value not in makers or (value, k) in coming
    assert all(makers[wire.value] == wire.source for wire in picture.wires)


def assert_places(picture: GraphView) -> LayeredLayout:
    """Each box is below those that it reads, and next to the others of its layer; edges next to the layers are left of
    them, and share a lane with no other edge that passes the same layer."""
    widths = [8.0 + len(box.name) for box in picture.boxes]
    result = compute_layout(picture, widths, 3, 2)
    within = {k for layer in result.layers for k in layer}
    assert sorted([*(k for layer in result.layers for k in layer), *result.lanes]) == list(range(len(result.centers)))
    left = min((result.centers[k] - (widths[k] / 2 if k < len(widths) else 0) for k in within), default=0)
    assert all(result.centers[k] < left for k in result.lanes)
    passing = [(result.centers[item], rank) for bends in result.bends for rank, item in bends.items()]
    assert len(passing) == len(set(passing))
    for wire in picture.wires:
        assert all(result.ranks[wire.source] < result.ranks[reader] for reader in wire.readers)
    for layer in result.layers:
        ends = [(result.centers[k], widths[k] / 2 if k < len(widths) else 0) for k in layer]
        assert all(a + w + 2 <= b - v + 1e-6 for (a, w), (b, v) in pairwise(ends))
    return result


@pytest.mark.parametrize("features", FEATURES, ids="-".join)
def test_layout_of_random_loops(features: Collection[str]) -> None:
    count = 0
    for main in random_models(features):
        for picture in pictures(main):
            assert_back_edges(picture)
            assert_reads(picture)
            assert_places(picture)
            count += len(picture.arcs)
    assert count > 10


#: A chain whose parts each read a carried value and yield another: all of these edges pass many nodes.
DEEP = """
deep (int64 n, CARRIED) => (LAST) {
  LAST = Loop <body = body (int64 i, bool c, CARRIED) => (bool go, MODEL_INPUTS) {
    go = Identity (c)
    NODES
  }> (n, , NAMES)
}
"""


def deep(parts: int, nodes: int) -> Graph:
    """A loop of N parts, each with a carried value of its own."""
    lines, x = list[str](), "x0"
    for part in range(parts):
        for node in range(nodes):
            lines.append(f"t{part}_{node} = {'Add' if node == 0 else 'Neg'} ({x}{f', x{part}' if node == 0 else ''})")
            x = f"t{part}_{node}"
        lines.append(f"y{part} = Exp ({x})")
    each = range(parts)
    carried, inputs = (", ".join(f"float[4] {name}{k}" for k in each) for name in "xy")
    text = DEEP.replace("CARRIED", carried).replace("MODEL_INPUTS", inputs).replace("NODES", "\n".join(lines))
    text = text.replace("NAMES", ", ".join(f"x{k}" for k in each))
    types = ", ".join(f"float[4] z{k}" for k in each)
    return model(text.replace("(LAST)", f"({types})").replace("LAST", ", ".join(f"z{k}" for k in each))).graph


def test_long_edges_run_next_to_layers() -> None:
    main = deep(12, 8)
    (loop,) = loops(main)
    picture = build_graph_view(loop.body, loop, NodeFormatter(ProducerMap.for_graph(main)))
    assert_back_edges(picture)
    assert_reads(picture)
    result = assert_places(picture)
    # Not one item in each layer: that would be 1 500.
    assert len(result.layers) > 90 and 10 < len(result.lanes) < 24 and len(result.centers) < 400
    # A value yielded early shares a lane with one that is read late.
    assert len(set(result.lanes.values())) < len(result.lanes)


def test_nodes_of_the_condition_are_marked() -> None:
    main = sample("newton_sqrt.onnx")[0].graph
    picture = list(pictures(main))[1]
    decides = {(box.kind, box.name) for box in picture.boxes if box.affects_condition}
    assert decides >= {
        (BoxKind.CARRIED, "x"),
        (BoxKind.NODE, "err_new"),
        (BoxKind.CONDITION, "keep"),
        (BoxKind.CAPTURED, "tol"),
    }
    assert (BoxKind.CARRIED, "err") not in decides and (BoxKind.SCAN, "xs") not in decides


def test_open_loop_contains_its_picture() -> None:
    main = sample("mandelbrot.onnx")[0].graph
    (outer,) = (loop for loop in loops(main) if loop.name == "pixels")
    (inner,) = loops(outer.body)
    picture = build_graph_view(outer.body, outer, NodeFormatter(ProducerMap.for_graph(main)), {inner})
    (box,) = (box for box in picture.boxes if box.node is inner)
    assert [subgraph.loop for subgraph in box.subgraphs] == [inner] and len(box.subgraphs[0].arcs) == 3


IF = """
test (float[2] a, bool c) => (float[2] y) {
  y = If (c) <then_branch = t () => (float[2] p) { two = Constant <value_float = 2.0> () p = Mul(a, two) },
              else_branch = e () => (float[2] q) { q = Neg(a) }>
}
"""


def test_if_reads_the_captures_of_its_branches() -> None:
    main = model(IF).graph
    (node,) = (node for node in main.nodes if isinstance(node, If))
    picture = build_graph_view(main, None, NodeFormatter(ProducerMap.for_graph(main)), {node})
    (index,) = (k for k, box in enumerate(picture.boxes) if box.kind is BoxKind.IF)
    assert {wire.value.name for wire in picture.wires if index in wire.readers} == {"a", "c"}
    assert [part.title for part in picture.boxes[index].subgraphs] == [word for word, _ in bodies(node)]


def marked(session: loopdbg.Session, loop: Loop | None = None) -> tuple[GraphView, set[str], dict[str, object]]:
    """The picture of the focused loop, the names of non-finite values, and values by kind and name."""
    main, frame = session.model.graph, session.frame
    loop = loop or frame.loop
    picture = build_graph_view(main if loop is None else loop.body, loop, NodeFormatter(ProducerMap.for_graph(main)))
    marks = build_overlay(picture, frames_by_loop(frame))
    boxes = picture.boxes
    values = {f"{boxes[k].kind} {boxes[k].name}": value for k, value in marks.values.items()}
    if marks.next_box is not None:
        values["next"] = boxes[marks.next_box].name
    values |= {f"count {boxes[k].name}": count for k, (count, _) in marks.scan_counts.items()}
    values |= {f"running {boxes[k].name}": message for k, message in marks.loop_progress.items()}
    return picture, {boxes[k].name for k in marks.non_finite}, values


def test_marks_within_an_iteration() -> None:
    session = loopdbg.Session(*sample("newton_sqrt.onnx"))
    session.step(2)
    session.next_node(2)
    _, odd, values = marked(session)
    assert not odd and values["next"] == "half_q" and values["count xs"] == 2
    assert values["carried x"] == session.frame.carried["x"]
    # A value that is not computed yet is shown nowhere, not even on back edges.
    assert not {"node x_new", "back edge x", "condition keep"} & set(values)


def test_marks_at_a_boundary() -> None:
    session = loopdbg.Session(*sample("newton_sqrt.onnx"))
    session.step(2)
    _, _, values = marked(session)
    assert values["carried x"] == values["back edge x"] == session.frame.back_edges[0].value
    assert values["node half"] == session.frame.values["half"]


def test_path_of_nan_is_marked() -> None:
    session = loopdbg.Session(*sample("vanishing_scale.onnx"))
    session.step(138)
    _, odd, values = marked(session)
    assert {"h", "q", "h_new", "sizes"} <= odd and not {"s", "scale", "more"} & odd
    assert not np.isfinite(np.asarray(values["node q"])).any()


def test_running_inner_loop_shows_its_iteration() -> None:
    session = loopdbg.Session(*sample("mandelbrot.onnx"))
    (outer,) = (loop for loop in loops(session.model.graph) if loop.name == "pixels")
    session.breakpoints.add("iter 2 in escape")
    session.continue_()
    _, _, values = marked(session, outer)
    assert values["running escape"] == f"iteration {session.frame.iteration} / {session.frame.trip_count}"
