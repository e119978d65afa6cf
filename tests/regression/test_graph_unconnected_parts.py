"""Of a body too large to be drawn whole, the part that is seen is never nearly empty, and every box can be reached."""

from __future__ import annotations

import pytest

from app_driver import open_app
from loopdbg.debugger.describe.node_text import NodeFormatter
from loopdbg.debugger.graphview.build_view import build_graph_view
from loopdbg.debugger.graphview.focus_subgraph import MAX_BOXES, focus_subgraph
from loopdbg.runtime.graph import Loop
from loopdbg.runtime.graph.producers import ProducerMap
from loopdbg.tui.render.graphview.state import GraphState
from loopdbg.tui.screens.graph import GraphScreen
from text_models import model


def text(chains: int, length: int) -> str:
    """A loop whose body begins with what exporters write, Identity of the condition, and has chains of nodes that are
    not joined; the first one is carried on."""
    nodes = ["keep = Identity (c)"]
    for chain in range(chains):
        for k in range(length):
            last = chain == 0 and k == length - 1
            before = ("x" if chain == 0 else f"w{chain}") if k == 0 else f"v{chain}_{k - 1}"
            nodes.append(f"{'y' if last else f'v{chain}_{k}'} = {'Abs' if k % 2 else 'Neg'} ({before})")
    inputs = "".join(f", float w{chain}" for chain in range(1, chains))
    return f"""
main (float x0{inputs}) => (float r) {{
  M = Constant <value = int64 {{3}}> ()
  r = Loop <body = step (int64 i, bool c, float x) => (bool keep, float y) {{
    {chr(10).join(nodes)}
  }}> (M, , x0)
}}"""


@pytest.mark.parametrize(("chains", "length"), [(1, 80), (40, 2), (3, 30)])
def test_a_part_has_as_many_boxes_as_are_shown(chains: int, length: int) -> None:
    graph = model(text(chains, length)).graph
    (loop,) = (node for node in graph.nodes if isinstance(node, Loop))
    picture = build_graph_view(loop.body, loop, NodeFormatter(ProducerMap.for_graph(graph)), set())
    assert len(picture.boxes) > MAX_BOXES
    for focus in range(len(picture.boxes)):
        part = focus_subgraph(picture, focus)
        assert len(part.boxes) == MAX_BOXES
        assert part.find_box(picture.boxes[focus].key) is not None


@pytest.mark.parametrize(("chains", "length"), [(1, 80), (40, 2)])
async def test_the_arrows_lead_to_every_node(chains: int, length: int) -> None:
    inputs = {"x0": 1.0, **{f"w{chain}": 1.0 for chain in range(1, chains)}}
    async with open_app(model(text(chains, length)), inputs) as screen:
        await screen.press("G")
        shown = screen.app.screen
        assert isinstance(shown, GraphScreen)
        assert (
            f"{MAX_BOXES} of " in shown.graph_state.title_text()
            and "1 of 1 back edges" in shown.graph_state.title_text()
        )
        wanted = {box.node for box in shown.graph_state.full_picture.boxes if box.node is not None}
        assert reached(shown.graph_state) >= wanted


def reached(state: GraphState) -> set[object]:
    """The nodes of all boxes that the arrow keys lead to."""
    keys, waiting = {state.cursor}, [state.cursor]
    while waiting:
        key = waiting.pop()
        for way in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            state.set_cursor(key)
            state.move_cursor(*way)
            if state.cursor not in keys:
                keys.add(state.cursor)
                waiting.append(state.cursor)
    return {box.node for box in state.full_picture.boxes if box.key in keys}
