"""Pane layout: at every size no pane overlaps another or exceeds the screen, and no space is left empty."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app_driver import open_app, run_app
from loopdbg.tui import user_state
from loopdbg.tui.actions import PANE_KEYS
from loopdbg.tui.app import LoopdbgApp
from loopdbg.tui.cli.app_launcher import _load_arrangement, _run_and_save_arrangement
from loopdbg.tui.command_worker import CommandWorker
from loopdbg.tui.render.pane_layout import (
    ONE_LINE,
    TABS,
    UNLIMITED_LINES,
    PaneArrangement,
    PaneBox,
    SpaceRequest,
    arrange_panes,
    is_small_screen,
    tab_for_pane,
)
from loopdbg.tui.screens.debugger.screen import DebuggerScreen
from text_models import SAMPLES, sample

#: The panes that are present at every stop.
ALWAYS = {
    "body": SpaceRequest(5, UNLIMITED_LINES),
    "value": SpaceRequest(7, 10),
    "overview": SpaceRequest(12, UNLIMITED_LINES),
}
NEEDS = st.dictionaries(
    st.sampled_from(sorted(PANE_KEYS)),
    st.one_of(
        st.just(ONE_LINE),
        st.builds(
            lambda least, more: SpaceRequest(least, least + more),
            st.integers(1, 5),
            st.one_of(st.integers(0, 40), st.just(UNLIMITED_LINES)),
        ),
    ),
).map(lambda result: {**ALWAYS, **result, "body": ALWAYS["body"]})


def overlap(a: PaneBox, b: PaneBox) -> bool:
    return a.x < b.x + b.width and b.x < a.x + a.width and a.y < b.y + b.height and b.y < a.y + a.height


@given(st.integers(20, 260), st.integers(8, 80), NEEDS, st.integers(0, len(TABS) - 1))
def test_boxes_nest_and_do_not_overlap(width: int, height: int, needs: dict[str, SpaceRequest], tab: int) -> None:
    boxes = arrange_panes(width, height, needs, tab if is_small_screen(width, height) else None)
    assert set(boxes) <= set(needs)
    for box in boxes.values():
        assert box.x >= 0 and box.y >= 0 and box.width > 0
        # With a border, or a single line without one.
        assert box.height == 1 or box.height > 2
        assert box.x + box.width <= width and box.y + box.height <= height
    for a, b in itertools.combinations(boxes.values(), 2):
        assert not overlap(a, b)
    if not is_small_screen(width, height):
        assert "body" in boxes
        # No space next to the program is empty.
        assert sum(box.width * box.height for box in boxes.values()) >= width * height * 0.9


@pytest.mark.parametrize("pane", PANE_KEYS)
def test_every_pane_is_on_a_tab(pane: str) -> None:
    tab = tab_for_pane(pane)
    needs = {name: SpaceRequest(1, 3) for name in PANE_KEYS}
    assert pane in arrange_panes(80, 18, needs, tab)
    assert arrange_panes(80, 18, needs, 0, pane) == {pane: PaneBox(0, 0, 80, 18)}


@pytest.mark.parametrize("size", [(80, 24), (120, 36), (200, 60)])
async def test_every_pane_is_reached_by_its_key(size: tuple[int, int]) -> None:
    async with open_app(*sample("newton_sqrt.onnx"), size=size) as screen:
        await screen.press("D")
        await screen.type("display x")
        await screen.press("f", "c")
        for name, key in PANE_KEYS.items():
            await screen.press(key)
            pane = screen.panes[name]
            if name in ("condition", "scans", "stack") and not pane.display:
                continue
            assert pane.display and pane.has_focus and pane.size.height > 0, name
            assert f" {key} {pane.heading[0][:6]}" in "\n".join(screen.visible_rows())


async def test_small_screen_has_tabs() -> None:
    async with open_app(*sample("newton_sqrt.onnx"), size=(80, 24)) as screen:
        seen = []
        for _ in range(len(TABS)):
            seen.append(screen.visible_rows()[1].strip())
            await screen.press("greater_than_sign")
        for tab, shown in zip(TABS, seen, strict=True):
            assert f"[{tab.title}]" in shown
        await screen.press("less_than_sign")
        assert screen.pane_grid.tab == len(TABS) - 1 and screen.panes["timeline"].display
        # The panes below the program have one line each: their keys, and Enter on them, open the tab with their
        # content.
        await screen.press("1")
        assert screen.pane_grid.tab == 0 and screen.panes["back-edges"].is_one_line
        await screen.press("2")
        assert screen.pane_grid.tab == 1 and screen.panes["back-edges"].has_focus
        assert not screen.panes["back-edges"].is_one_line
        await screen.press("1", "tab", "enter")
        assert screen.pane_grid.tab == 1 and screen.panes["back-edges"].has_focus
        await screen.pilot.click("#tabs", offset=(2, 0))
        await screen.wait_until_idle()
        assert screen.pane_grid.tab == 0
        await screen.pilot.resize_terminal(120, 36)
        await screen.pilot.pause()
        assert not screen.pane_control.tab_bar.display and screen.panes["timeline"].display


async def test_full_screen_shows_one_pane() -> None:
    async with open_app(*sample("newton_sqrt.onnx")) as screen:
        await screen.press("2", "z")
        assert [name for name, pane in screen.panes.items() if pane.display] == ["back-edges"]
        assert screen.panes["back-edges"].outer_size.width == 120
        await screen.press("s")
        assert "iteration 0 → 1" in screen.text("back-edges")
        await screen.press("escape")
        assert screen.panes["body"].display
        # Changes made meanwhile are visible.
        assert "values of iteration 0" in screen.text("body")
        await screen.press("z", "z")
        assert screen.panes["body"].display


async def test_pane_arrangement_is_restored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOPDBG_CONFIG_DIR", str(tmp_path))
    path = SAMPLES / "mandelbrot.onnx"
    first = DebuggerScreen(CommandWorker(*sample(path.name), None), arrangement=_load_arrangement(path))
    async with run_app(first, (80, 24)) as screen:
        body = screen.panes["body"]
        inner = next(k for k, line in enumerate(body.lines) if "for k in range" in line.text)
        rows = len(body.lines)
        await screen.press("home", *["down"] * inner, "minus")
        hidden = rows - len(body.lines)
        assert hidden > 3
        await screen.press("greater_than_sign", "z")
        kept = first.pane_control.arrangement
        assert kept.tab == 1 and kept.maximized_pane == "back-edges"
    monkeypatch.setattr(LoopdbgApp, "run", lambda _: 0)
    assert _run_and_save_arrangement(first, path) == 0
    assert _load_arrangement(path) == kept
    # Folds belong to the model; tabs and panes belong to the user.
    assert _load_arrangement(SAMPLES / "lstm.xml") == PaneArrangement(1, "back-edges", {})
    again = DebuggerScreen(CommandWorker(*sample(path.name), None), arrangement=_load_arrangement(path))
    async with run_app(again, (80, 24)) as screen:
        assert [name for name, pane in screen.panes.items() if pane.display] == ["back-edges"]
        assert screen.panes["back-edges"].has_focus
        await screen.press("escape")
        assert screen.pane_grid.tab == 1
        await screen.press("1")
        assert len(screen.panes["body"].lines) == rows - hidden
    # In a modified model, lines with other texts are not taken for folded heads.
    other = PaneArrangement(0, "", {number: f"{text} " for number, text in kept.folded.items()})
    async with run_app(DebuggerScreen(CommandWorker(*sample(path.name), None), arrangement=other), (80, 24)) as screen:
        assert len(screen.panes["body"].lines) == rows and screen.pane_control.arrangement == PaneArrangement()


def test_invalid_stored_arrangement_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOPDBG_CONFIG_DIR", str(tmp_path))
    path = SAMPLES / "mandelbrot.onnx"
    for strange in (3, {"tab": "a", "full": 3, "folded": [1]}, {"tab": 99, "full": "no", "folded": {str(path): 3}}):
        user_state.update_state(panes=strange)
        assert _load_arrangement(path) == PaneArrangement()
    user_state.update_state(panes={"folded": {str(path.resolve()): {"x": "y", "3": "loop"}}})
    assert _load_arrangement(path).folded == {3: "loop"}
    for k in range(30):
        user_state.save_arrangement(tmp_path / str(k), 0, "", {1: "a"})
    assert len(user_state.read_state()["panes"]["folded"]) == 20


def test_small_screen_collapses_last_panes() -> None:
    around = {"inputs": SpaceRequest(1, 5), "stack": SpaceRequest(1, 4), "breakpoints": SpaceRequest(1, 2)}
    needs = {**ALWAYS, **around, "back-edges": SpaceRequest(2, 4), "timeline": SpaceRequest(1, 1)}
    heights = [{name: box.height for name, box in arrange_panes(120, height, needs).items()} for height in (40, 16, 12)]
    assert [[height_value.get(name) for name in around] for height_value in heights] == [
        [7, 6, 4],
        [4, 1, 1],
        [1, 1, None],
    ]
    # The program has half of its column at every height.
    assert [height_entry["body"] for height_entry in heights] == [20, 7, 7]


def test_empty_pane_is_one_line_unless_requested() -> None:
    needs = {
        **ALWAYS,
        "condition": ONE_LINE,
        "back-edges": SpaceRequest(2, 3),
        "scans": SpaceRequest(2, UNLIMITED_LINES),
    }
    for width, height in ((120, 36), (200, 60)):
        assert arrange_panes(width, height, needs)["condition"].is_one_line
        assert arrange_panes(width, height, needs, zoomed="condition")["condition"].height == height
    assert not arrange_panes(80, 19, needs, tab_for_pane("condition"))["condition"].is_one_line
    # On a small screen all other panes are next to the program.
    boxes = arrange_panes(80, 19, needs, 0)
    assert boxes["body"].height == 17 and boxes["back-edges"].is_one_line and boxes["condition"].is_one_line


def test_graph_is_below_a_short_program() -> None:
    short = {**ALWAYS, "body": SpaceRequest(5, 14), "back-edges": SpaceRequest(2, 3)}
    long = {**short, "body": SpaceRequest(5, 90)}
    below, neighbor = (arrange_panes(200, 56, needs) for needs in (short, long))
    assert below["overview"].x == below["body"].x and below["overview"].y == below["body"].height == 16
    assert neighbor["overview"].y == 0 and neighbor["body"].height == 56


def test_graph_uses_the_larger_space() -> None:
    few = {**ALWAYS, "body": SpaceRequest(5, 90), "back-edges": SpaceRequest(2, 26), "scans": SpaceRequest(2, 25)}
    neighbor, below = (arrange_panes(200, 56, needs) for needs in (few, {**few, "inputs": SpaceRequest(2, 40)}))
    assert neighbor["overview"].x == neighbor["scans"].x > neighbor["back-edges"].x
    assert below["overview"].x == below["back-edges"].x < below["scans"].x
    # The value has the space that it can use, the graph has the rest.
    assert below["value"].height == 12 and below["overview"].height == 56 - below["back-edges"].height - 12


@pytest.mark.parametrize("size", [(1, 1), (3, 3), (5, 3)])
@pytest.mark.parametrize("keys", [(), ("ctrl+p",), ("question_mark",), ("G",), ("2", "down", "enter"), ("colon",)])
async def test_enlarged_terminal_shows_all_panes_again(size: tuple[int, int], keys: tuple[str, ...]) -> None:
    async with open_app(*sample("counter.onnx")) as screen:
        await screen.press("s", *keys)
        before = screen.visible_rows()
        await screen.pilot.resize_terminal(*size)
        await screen.wait_until_idle()
        await screen.pilot.resize_terminal(120, 36)
        await screen.wait_until_idle()
        assert len(screen.visible_rows()) == len(before) == 36
