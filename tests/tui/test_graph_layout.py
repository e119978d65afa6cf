"""The graph uses the available space: boxes show more, and the rest is split between both sides. The position and size
of a box are the same at every stop."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from textual.geometry import Offset

from app_driver import AppDriver, open_app
from loopdbg.tui.render.graphview.layout import BOX_DETAILS, DetailLevel, GraphLayout
from loopdbg.tui.screens.graph import GraphScreen
from text_models import SAMPLES, model, sample

#: Terminal sizes: a vast window and a small one.
SIZES = [(80, 24), (120, 36), (200, 60), (300, 100)]


def graph(screen: AppDriver) -> GraphScreen:
    """The graph, which is in front."""
    top = screen.app.screen
    assert isinstance(top, GraphScreen)
    return top


def level(screen: AppDriver) -> DetailLevel:
    """The level of detail of the boxes."""
    return graph(screen).graph_state.level


def seen(screen: AppDriver) -> list[str]:
    """The visible rows of the graph."""
    region = graph(screen).graph_view.region
    return [row[region.x : region.right] for row in screen.visible_rows()[region.y : region.bottom]]


def margins(rows: list[str]) -> tuple[int, int, int, int]:
    """The empty space at the left, at the right, above and below."""
    drawn = [k for k, row in enumerate(rows) if row.strip()]
    left = min(len(rows[k]) - len(rows[k].lstrip()) for k in drawn)
    right = min(len(rows[k]) - len(rows[k].rstrip()) for k in drawn)
    return left, right, drawn[0], len(rows) - 1 - drawn[-1]


def assert_framed(places: GraphLayout, text: str) -> None:
    """Every box is a rectangle at its reported position."""
    rows = text.split("\n")
    for chip in places.placed_boxes:
        low = chip.top + chip.height - 1
        assert rows[chip.top][chip.left] == "┌" and rows[chip.top][chip.right - 1] == "┐"
        assert rows[low][chip.left] == "└" and rows[low][chip.right - 1] == "┘"


@pytest.mark.parametrize("name", ["newton_sqrt.onnx", "lstm.xml", "loop_nested.xml"])
async def test_larger_window_shows_more(name: str) -> None:
    shown = []
    for size in SIZES:
        async with open_app(*sample(name), size=size) as screen:
            await screen.press("s", "G")
            shown.append(level(screen))
    assert all(a <= b for a, b in pairwise(shown)) and (shown[0], shown[-1]) == (DetailLevel.VALUES, DetailLevel.FRAMES)


async def test_boxes_show_line_type_and_value() -> None:
    async with open_app(*sample("newton_sqrt.onnx"), size=(200, 60)) as screen:
        await screen.press("s", "s", "n", "n", "G")
        drawn = "\n".join(seen(screen))
        assert "│ half = x * 0.5 " in drawn and "│ f32 []  0.7083334 " in drawn
        assert "▶half_q Mul▌" in drawn and "│ xs collects x_new " in drawn and "▪▪2" in drawn


@pytest.mark.parametrize("size", SIZES[1:])
async def test_graph_is_centred(size: tuple[int, int]) -> None:
    async with open_app(*sample("newton_sqrt.onnx"), size=size) as screen:
        await screen.press("s", "G")
        rows = seen(screen)
        left, right, above, below = margins(rows)
        assert abs(left - right) <= 1 and abs(above - below) <= 1
        assert graph(screen).graph_view.origin == (left, above)


@pytest.mark.parametrize("name", sorted(path.name for path in SAMPLES.glob("*.onnx")))
async def test_boxes_do_not_move_between_stops(name: str) -> None:
    async with open_app(*sample(name), size=(300, 100), max_iterations=20) as screen:
        await screen.press("s", "G")
        loop, places, origin = (
            screen.screen_state.frame.loop,
            graph(screen).graph_state.graph_layout,
            graph(screen).graph_view.origin,
        )
        chosen = level(screen)
        for key in (*"nnnnn", "s", "n", "N", "S", "c"):
            await screen.press(key)
            if screen.screen_state.frame.loop is not loop:
                break
            assert graph(screen).graph_state.graph_layout is places and level(screen) is chosen
            assert graph(screen).graph_view.origin == origin
            if BOX_DETAILS[chosen].rows > 1:
                assert_framed(places, graph(screen).graph_view.text)
            assert [row.strip() for row in seen(screen) if row.strip()] == [
                row.strip() for row in graph(screen).graph_view.text.split("\n") if row.strip()
            ]


@pytest.mark.parametrize("size", SIZES)
async def test_click_hits_its_box(size: tuple[int, int]) -> None:
    async with open_app(*sample("lstm.xml"), size=size) as screen:
        await screen.press("s", "G")
        state, view = graph(screen).graph_state, graph(screen).graph_view
        for k, chip in enumerate(state.graph_layout.placed_boxes):
            spot = view.origin + Offset(chip.right - 1, chip.top + chip.height - 1)
            assert view.size.region.contains_point(spot)
            await screen.pilot.click("#graph", offset=spot)
            await screen.wait_until_idle()
            assert state.cursor_index == k


async def test_level_follows_the_window_size_unless_chosen() -> None:
    async with open_app(*sample("lstm.xml"), size=(200, 60)) as screen:
        await screen.press("s", "G")
        assert level(screen) is DetailLevel.FRAMES
        await screen.pilot.resize_terminal(80, 24)
        await screen.wait_until_idle()
        assert level(screen) is DetailLevel.VALUES and "(↻ h " in "\n".join(seen(screen))
        await screen.press("minus", "minus")
        await screen.pilot.resize_terminal(200, 60)
        await screen.wait_until_idle()
        assert level(screen) is DetailLevel.NAMES and "(↻ h)" in "\n".join(seen(screen))
        await screen.press(*["plus"] * 6)
        assert level(screen) is DetailLevel.FRAMES and "nothing more to show" in str(
            graph(screen).message_label.content
        )


#: More boxes than are visible at once, in few layers.
WIDE_MODEL = """
wide (float[2] x) => (float[2] y) {
  NODES
  y = Sum (ALL)
}
"""


async def test_boxes_of_an_excerpt_keep_their_size() -> None:
    names = [f"t{k}" for k in range(70)]
    text = WIDE_MODEL.replace("NODES", "\n".join(f"{name} = Tanh (x)" for name in names)).replace(
        "ALL", ", ".join(names)
    )
    async with open_app(model(text), {"x": np.ones(2, np.float32)}, size=(4000, 60)) as screen:
        await screen.wait_until(lambda: isinstance(screen.app.screen, GraphScreen) and "▶" in screen.app.screen.text)
        assert graph(screen).graph_state.visible_picture is not graph(screen).graph_state.full_picture
        assert level(screen) is DetailLevel.VALUES


async def test_graph_pane_shows_more_with_space() -> None:
    shown = []
    for size in ((170, 30), (170, 40), (200, 60), (300, 120)):
        async with open_app(*sample("loop_nested.xml"), size=size) as screen:
            await screen.press("s")
            overview = screen.graph_overview
            assert overview.display and overview.graph_layout is not None
            places = overview.graph_layout
            assert overview.origin.x == max(0, (overview.size.width - places.width) // 2) - overview.scroll_offset.x
            shown.append(places.level)
    assert shown == [DetailLevel.NAMES, DetailLevel.NARROW, DetailLevel.TYPES, DetailLevel.FRAMES]
