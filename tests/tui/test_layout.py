"""Where the panes stand: in every size no pane over another, none beyond the edge, and no room left empty."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopdbg.tui import settings
from loopdbg.tui.actions import PANES
from loopdbg.tui.app import LoopdbgApp
from loopdbg.tui.cli.screen import _arrangement, _run
from loopdbg.tui.driver import Driver
from loopdbg.tui.screen.layout import ALL, LINE, TABS, Arrangement, Box, Need, arrange, small, tab_of
from models import SAMPLES, sample
from screens import opened, running

#: What is there at every stop.
ALWAYS = {"body": Need(5, ALL), "value": Need(7, 10), "overview": Need(12, ALL)}
NEEDS = st.dictionaries(
    st.sampled_from(PANES),
    st.one_of(
        st.just(LINE),
        st.builds(
            lambda least, more: Need(least, least + more),
            st.integers(1, 5),
            st.one_of(st.integers(0, 40), st.just(ALL)),
        ),
    ),
).map(lambda found: {**ALWAYS, **found, "body": ALWAYS["body"]})


def overlap(a: Box, b: Box) -> bool:
    return a.x < b.x + b.width and b.x < a.x + a.width and a.y < b.y + b.height and b.y < a.y + a.height


@given(st.integers(20, 260), st.integers(8, 80), NEEDS, st.integers(0, len(TABS) - 1))
def test_boxes_are_within_and_beside_each_other(width: int, height: int, needs: dict[str, Need], tab: int) -> None:
    boxes = arrange(width, height, needs, tab if small(width, height) else None)
    assert set(boxes) <= set(needs)
    for box in boxes.values():
        assert box.x >= 0 and box.y >= 0 and box.width > 0
        # With a border, or a line without one.
        assert box.height == 1 or box.height > 2
        assert box.x + box.width <= width and box.y + box.height <= height
    for a, b in itertools.combinations(boxes.values(), 2):
        assert not overlap(a, b)
    if not small(width, height):
        assert "body" in boxes
        # Nothing is left empty beside the program.
        assert sum(box.width * box.height for box in boxes.values()) >= width * height * 0.9


@pytest.mark.parametrize("pane", PANES)
def test_every_pane_is_on_a_tab(pane: str) -> None:
    tab = tab_of(pane)
    needs = {name: Need(1, 3) for name in PANES}
    assert pane in arrange(80, 18, needs, tab)
    assert arrange(80, 18, needs, 0, pane) == {pane: Box(0, 0, 80, 18)}


@pytest.mark.parametrize("size", [(80, 24), (120, 36), (200, 60)])
async def test_every_pane_is_reached_by_its_key(size: tuple[int, int]) -> None:
    async with opened(*sample("newton_sqrt.onnx"), size=size) as screen:
        await screen.press("D")
        await screen.type("display x")
        await screen.press("f", "c")
        for place, name in enumerate(PANES, 1):
            number = place % 10
            await screen.press(str(number))
            pane = screen.app.panes[name]
            if name in ("condition", "scans", "stack") and not pane.display:
                continue
            assert pane.display and pane.has_focus and pane.size.height > 0, name
            assert f" {number} {pane.heading[0][:6]}" in "\n".join(screen.visible())


async def test_tabs_of_a_small_screen() -> None:
    async with opened(*sample("newton_sqrt.onnx"), size=(80, 24)) as screen:
        seen = []
        for _ in range(len(TABS)):
            seen.append(screen.visible()[1].strip())
            await screen.press("greater_than_sign")
        for tab, shown in zip(TABS, seen, strict=True):
            assert f"[{tab.title}]" in shown
        await screen.press("less_than_sign")
        assert screen.app.bench.tab == len(TABS) - 1 and screen.app.panes["timeline"].display
        # The panes below the program have a line each: their keys, and Enter on them, go to the tab that is about them.
        await screen.press("1")
        assert screen.app.bench.tab == 0 and screen.app.panes["back-edges"].is_line
        await screen.press("2")
        assert screen.app.bench.tab == 1 and screen.app.panes["back-edges"].has_focus
        assert not screen.app.panes["back-edges"].is_line
        await screen.press("1", "tab", "enter")
        assert screen.app.bench.tab == 1 and screen.app.panes["back-edges"].has_focus
        await screen.pilot.click("#tabs", offset=(2, 0))
        await screen.settle()
        assert screen.app.bench.tab == 0
        await screen.pilot.resize_terminal(120, 36)
        await screen.pilot.pause()
        assert not screen.app.tabs.display and screen.app.panes["timeline"].display


async def test_full_screen() -> None:
    async with opened(*sample("newton_sqrt.onnx")) as screen:
        await screen.press("2", "z")
        assert [name for name, pane in screen.app.panes.items() if pane.display] == ["back-edges"]
        assert screen.app.panes["back-edges"].outer_size.width == 120
        await screen.press("s")
        assert "iteration 0 → 1" in screen.text("back-edges")
        await screen.press("escape")
        assert screen.app.panes["body"].display
        # What happened meanwhile is seen.
        assert "values of iteration 0" in screen.text("body")
        await screen.press("z", "z")
        assert screen.app.panes["body"].display


async def test_the_panes_stand_as_they_were_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOPDBG_CONFIG_DIR", str(tmp_path))
    path = SAMPLES / "mandelbrot.onnx"
    first = LoopdbgApp(Driver(*sample(path.name), None), arrangement=_arrangement(path))
    async with running(first, (80, 24)) as screen:
        body = screen.app.panes["body"]
        inner = next(k for k, line in enumerate(body.lines) if "for k in range" in line.text)
        rows = len(body.lines)
        await screen.press("home", *["down"] * inner, "minus")
        hidden = rows - len(body.lines)
        assert hidden > 3
        await screen.press("greater_than_sign", "z")
        assert first.arrangement.tab == 1 and first.arrangement.full == "back-edges"
    kept = first.arrangement
    monkeypatch.setattr(first, "run", lambda: 0)
    assert _run(first, path) == 0
    assert _arrangement(path) == kept
    # Folded is what was folded in that model, tabs and panes are the person's.
    assert _arrangement(SAMPLES / "lstm.xml") == Arrangement(1, "back-edges", {})
    again = LoopdbgApp(Driver(*sample(path.name), None), arrangement=_arrangement(path))
    async with running(again, (80, 24)) as screen:
        assert [name for name, pane in screen.app.panes.items() if pane.display] == ["back-edges"]
        assert screen.app.panes["back-edges"].has_focus
        await screen.press("escape")
        assert screen.app.bench.tab == 1
        await screen.press("1")
        assert len(screen.app.panes["body"].lines) == rows - hidden
    # In a model that was changed, lines of other texts are no heads that were folded.
    other = Arrangement(0, "", {number: f"{text} " for number, text in kept.folded.items()})
    async with running(LoopdbgApp(Driver(*sample(path.name), None), arrangement=other), (80, 24)) as screen:
        assert len(screen.app.panes["body"].lines) == rows and screen.app.arrangement == Arrangement()


def test_an_arrangement_that_makes_no_sense_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOPDBG_CONFIG_DIR", str(tmp_path))
    path = SAMPLES / "mandelbrot.onnx"
    for strange in (3, {"tab": "a", "full": 3, "folded": [1]}, {"tab": 99, "full": "no", "folded": {str(path): 3}}):
        settings.remember(panes=strange)
        assert _arrangement(path) == Arrangement()
    settings.remember(panes={"folded": {str(path.resolve()): {"x": "y", "3": "loop"}}})
    assert _arrangement(path).folded == {3: "loop"}
    for k in range(30):
        settings.arranged(tmp_path / str(k), 0, "", {1: "a"})
    assert len(settings.state()["panes"]["folded"]) == 20


def test_with_little_room_the_last_panes_are_lines_and_then_none() -> None:
    around = {"inputs": Need(1, 5), "stack": Need(1, 4), "breakpoints": Need(1, 2)}
    needs = {**ALWAYS, **around, "back-edges": Need(2, 4), "timeline": Need(1, 1)}
    heights = [{name: box.height for name, box in arrange(120, height, needs).items()} for height in (40, 16, 12)]
    assert [[found.get(name) for name in around] for found in heights] == [[7, 6, 4], [4, 1, 1], [1, 1, None]]
    # The program has half of its column, in whatever height.
    assert [found["body"] for found in heights] == [20, 7, 7]


def test_a_pane_without_anything_to_say_is_a_line_unless_it_is_asked_for() -> None:
    needs = {**ALWAYS, "condition": LINE, "back-edges": Need(2, 3), "scans": Need(2, ALL)}
    for width, height in ((120, 36), (200, 60)):
        assert arrange(width, height, needs)["condition"].is_line
        assert arrange(width, height, needs, full="condition")["condition"].height == height
    assert not arrange(80, 19, needs, tab_of("condition"))["condition"].is_line
    # On a small screen all others beside the program are.
    boxes = arrange(80, 19, needs, 0)
    assert boxes["body"].height == 17 and boxes["back-edges"].is_line and boxes["condition"].is_line


def test_a_short_program_has_its_graph_below_it() -> None:
    short = {**ALWAYS, "body": Need(5, 14), "back-edges": Need(2, 3)}
    long = {**short, "body": Need(5, 90)}
    below, beside = (arrange(200, 56, needs) for needs in (short, long))
    assert below["overview"].x == below["body"].x and below["overview"].y == below["body"].height == 16
    assert beside["overview"].y == 0 and beside["body"].height == 56


def test_the_graph_stands_where_more_is_left_for_it() -> None:
    few = {**ALWAYS, "body": Need(5, 90), "back-edges": Need(2, 26), "scans": Need(2, 25)}
    beside, below = (arrange(200, 56, needs) for needs in (few, {**few, "inputs": Need(2, 40)}))
    assert beside["overview"].x == beside["scans"].x > beside["back-edges"].x
    assert below["overview"].x == below["back-edges"].x < below["scans"].x
    # The value has what it can use, the graph all the rest.
    assert below["value"].height == 12 and below["overview"].height == 56 - below["back-edges"].height - 12


@pytest.mark.parametrize("size", [(1, 1), (3, 3), (5, 3)])
@pytest.mark.parametrize("keys", [(), ("ctrl+p",), ("question_mark",), ("G",), ("2", "down", "enter"), ("colon",)])
async def test_a_terminal_without_room_shows_all_again_once_it_has_some(
    size: tuple[int, int], keys: tuple[str, ...]
) -> None:
    async with opened(*sample("counter.onnx")) as screen:
        await screen.press("s", *keys)
        before = screen.visible()
        await screen.pilot.resize_terminal(*size)
        await screen.settle()
        await screen.pilot.resize_terminal(120, 36)
        await screen.settle()
        assert len(screen.visible()) == len(before) == 36
