"""Plots are accurate for values that oscillate within a cell, for non-finite and estimated values, and for marks that
would overlap."""

from __future__ import annotations

import numpy as np
import pytest

from app_driver import open_app, sample
from loopdbg.tui.actions import PANE_KEYS
from loopdbg.tui.render.downsample import MinMaxBand, draw_braille
from loopdbg.tui.widgets.timeline import place_marks
from text_models import model

FULL = "⣿"

#: x alternates in sign; the yielded values are collected.
ALTERNATES = """g (int64 M, float v0, float limit) => (float v, float[n] vs) {
  yes = Constant <value_int = 1> ()
  go = Cast <to = 9> (yes)
  v, vs = Loop (M, go, v0) <body = body (int64 i, bool c, float x) => (bool k, float z, float s) {
    z = Neg (x)
    s = Identity (z)
    k = Less (z, limit)
  }>
}"""
TURNS = {"v0": np.float32(1), "limit": np.float32(5)}


def test_band_spans_minimum_and_maximum() -> None:
    turns = np.where(np.arange(600) % 2, 1.0, -1.0)
    assert draw_braille(MinMaxBand.from_numbers(turns), 20) == [FULL * 20]
    assert draw_braille(MinMaxBand.from_numbers(turns), 20, 3) == [FULL * 20] * 3
    # A constant value is a line at the bottom.
    assert draw_braille(MinMaxBand.from_numbers(np.ones(600)), 10) == ["⣀" * 10]


def test_band_shows_spikes_and_non_finite_values() -> None:
    numbers = np.zeros(400)
    numbers[111], numbers[250] = 9.0, np.nan
    signs = draw_braille(MinMaxBand.from_numbers(numbers), 40)[0]
    assert len(signs) == 40
    assert signs[25] == "×"
    assert [k for k, sign in enumerate(signs) if sign not in "⣀×"] == [11]
    assert draw_braille(MinMaxBand.from_numbers(np.full(100, np.inf)), 10) == ["×" * 10]


@pytest.mark.parametrize("count", [1, 2, 3, 7, 39, 40, 41, 79, 80, 81, 512, 1001])
@pytest.mark.parametrize("number", [1, 2, 40])
def test_band_covers_every_value(count: int, number: int) -> None:
    numbers = np.arange(float(count))
    rows = draw_braille(MinMaxBand.from_numbers(numbers), number, 2)
    assert len(rows) == 2 and len(rows[0]) == len(rows[1]) <= number
    if count > 1:
        # The first value is the smallest, the last one the largest.
        assert rows[1][0] != " " and rows[0][-1] != " "


def test_marks_are_adjacent() -> None:
    assert place_marks({"a": {3}, "b": {3}}, 9) == {3: ("a", 3), 2: ("b", 3)}
    # The first mark is drawn to the right; next to an equal one it needs no cell of its own.
    assert place_marks({"a": {0}, "b": {0}, "c": {0, 1}}, 9) == {0: ("a", 0), 1: ("c", 1), 2: ("b", 0)}
    assert place_marks({"a": {4}, "b": {3, 4, 5}}, 9) == {4: ("a", 4), 3: ("b", 3), 5: ("b", 5)}
    assert place_marks({"a": {0}, "b": {0}}, 1) == {0: ("a", 0)}


@pytest.mark.parametrize("size", [(80, 24), (120, 36), (200, 60)])
async def test_alternating_value_does_not_look_flat(size: tuple[int, int]) -> None:
    async with open_app(model(ALTERNATES), {**TURNS, "M": np.array(3000)}, size=size) as screen:
        await screen.press("c", "2")
        row = next(line for line in screen.lines("back-edges") if line.startswith("x"))
        assert FULL * 4 in row
        await screen.press("5" if size[0] < 100 else "s")
        for name in ("scans", "condition"):
            await screen.press(PANE_KEYS[name])
            # The condition is plotted as points; those between the lowest and the highest are drawn too.
            full = FULL * 20 if name == "scans" else "●" * 20
            rows = [line for line in screen.lines(name) if full in line]
            assert len(rows) >= 2, screen.text(name)


async def test_inspector_history_of_an_alternating_value_does_not_look_flat() -> None:
    async with open_app(model(ALTERNATES), {**TURNS, "M": np.array(3000)}) as screen:
        await screen.press("c", "2", "down", "p")
        drawn = [line.text for line in screen.app.screen.series_box.lines]
        assert sum(FULL * 20 in line for line in drawn) >= 3


async def test_non_finite_values_are_marked_at_every_stop() -> None:
    async with open_app(*sample("vanishing_scale.onnx")) as screen:
        await screen.press("c")
        assert screen.session.done
        frame = screen.session.frame
        odd = [
            k
            for k in range(frame.iteration + 1)
            if any(not np.isfinite(frame.history.value(n, k)).all() for n in frame.carried)
        ]
        assert odd
        timeline = screen.panes["timeline"]
        bar = timeline.lines[0].text[timeline._label_width :]
        marks = [k for k, sign in enumerate(bar[: timeline._bar_width]) if sign in "×▼"]
        assert marks[0] == timeline._cell_for_iteration(odd[0]) and bar[marks[0]] == "×"
        assert {timeline._cell_for_iteration(k) for k in odd} == set(marks)


async def test_marks_do_not_cover_each_other() -> None:
    async with open_app(*sample("newton_sqrt.onnx")) as screen:
        await screen.press("B")
        await screen.type("break iter 3")
        await screen.press("escape", "c")
        # A breakpoint hit there: three marks for one iteration.
        timeline = screen.panes["timeline"]
        bar = timeline.lines[0].text[timeline._label_width :]
        here = timeline._cell_for_iteration(3)
        assert bar[here] == "▼" and sorted(bar[here - 1] + bar[here + 1]) == sorted("●⚑")
        await screen.press("s")
        # A click on a mark goes to its iteration, wherever the mark is drawn.
        bar = timeline.lines[0].text[timeline._label_width :]
        for sign in "●⚑":
            index = bar.index(sign)
            await screen.pilot.click("#timeline", offset=(2 + timeline._label_width + index, 1))
            await screen.wait_until_idle()
            assert screen.session.frame.iteration == 3


@pytest.mark.parametrize("size", [(80, 24), (120, 44), (200, 60)])
async def test_estimate_is_drawn_as_an_estimate(size: tuple[int, int]) -> None:
    async with open_app(*sample("counter.onnx"), size=size) as screen:
        await screen.press("s", "s", "s", "3", "z")
        rows = screen.lines("condition")
        # From 9 on by 3 each: 21, the first value that is not below 20, is in iteration 6.
        assert "estimate: about 4 more iterations" in screen.text("condition")
        assert sum(row.count("·") for row in rows[:-1]) == 4
        assert rows[-2].endswith("~6") and "· estimate" in rows[-1]
        await screen.press("f")
        # With all values known, nothing is estimated.
        assert "estimate" not in screen.text("condition") and "·" not in "".join(screen.lines("condition")[4:])


async def test_forecast_leaves_space_for_history() -> None:
    async with open_app(
        model(ALTERNATES.replace("Neg (x)", "Add (x, x)")),
        {"M": np.array(99), "v0": np.float32(1), "limit": np.float32(1e30)},
    ) as screen:
        await screen.press("s", "s", "s", "s")
        rows = screen.lines("condition")
        # The estimate is about 100 iterations, the plot shows 8 of them.
        assert "about 96 more iterations" in " ".join(screen.text("condition").split())
        assert sum(row.count("·") for row in rows[:-1]) == 8 and rows[-2].endswith("~11")
