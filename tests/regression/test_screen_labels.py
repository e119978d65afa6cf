"""A threshold without its number, a scale of nothing, values of the iteration before as bright as new ones, and token
ids drawn as if they were sizes."""

from __future__ import annotations

import numpy as np
import pytest

from app_driver import open_app
from loopdbg.debugger.lessons.course.catalog import LESSONS_BY_NUMBER
from loopdbg.debugger.lessons.lesson import CardKind
from loopdbg.debugger.plots import frame_figures
from loopdbg.runtime.graph import System
from loopdbg.tui.actions import PANE_KEYS
from loopdbg.tui.render.downsample import MinMaxBand
from loopdbg.tui.render.inspector_text import IterationSeries, series_lines
from loopdbg.tui.render.styled_text import Role
from loopdbg.tui.render.text_plots import ComparisonPoints, draw_points
from text_models import model

SIZES = [(80, 24), (120, 36), (200, 60)]

FALLS = """g (float x0, float tol) => (float x) {
  n = Constant <value_int = 1000> ()
  one = Constant <value_int = 1> ()
  yes = Cast <to = 9> (one)
  part = Constant <value_float = 0.8> ()
  x = Loop (n, yes, x0) <body = b (int64 i, bool c, float a) => (bool more, float y) {
    y = Mul (a, part)
    more = Greater (y, tol)
  }>
}"""

DECODES = """g (int64[1] start, float[50] w) => (int64[s] tokens, int64[20] ids, int64[20,2] two) {
  n = Constant <value_int = 20> ()
  k = Constant <value_ints = [2]> ()
  tokens, last, ids, two = Loop (n, , start, start) <body = b (int64 i, bool c, int64[t] past, int64[1] tok)
    => (bool go, int64[u] now, int64[1] next, int64 id, int64[2] both) {
    go = Identity (c)
    e = Gather (w, tok)
    near = Sub (w, e)
    far = Abs (near)
    v, both = TopK (far, k)
    next = ArgMax <axis = 0> (far)
    id = Squeeze (next)
    now = Concat <axis = 0> (past, next)
  }>
}"""


@pytest.mark.parametrize("size", SIZES)
async def test_a_threshold_has_its_number(size: tuple[int, int]) -> None:
    feeds = {"x0": np.float32(100), "tol": np.float32(0.01)}
    async with open_app(model(FALLS), feeds, size=size) as screen:
        await screen.press(*"s" * 12, "3", "z")
        rows = screen.lines("condition")
        (line,) = [row for row in rows if "────" in row]
        assert line.split()[0] == "0.01"
        assert any("─ tol = 0.01" in row for row in rows)


def test_the_number_of_a_threshold_within_the_scale() -> None:
    rows = draw_points(ComparisonPoints(range(9), [1, 2, 3, 4, 5, 6, 7, 8, 9], [4.5] * 9), 60, 12)
    (line,) = [row for row in rows if "────" in row]
    assert line.split()[0] == "4.5" and rows[0].split()[0] == "9"


def test_a_scale_of_nothing_has_no_number() -> None:
    odd = IterationSeries(tuple(range(4)), MinMaxBand.from_numbers(np.full(4, np.nan)), "norm")
    assert not any("┤" in line.text for line in series_lines(odd, 3, 40, 6))
    # What is flat lies at the foot, where its number is.
    flat = IterationSeries(tuple(range(4)), MinMaxBand.from_numbers(np.full(4, 7.0)), "norm")
    assert [line_value.text.split()[0] for line_value in series_lines(flat, 3, 40, 6) if "┤" in line_value.text] == [
        "7"
    ]
    assert "7 ┤" in series_lines(flat, 3, 40, 6)[-2].text


async def test_values_of_the_iteration_before_are_dimmed() -> None:
    feeds = {"x0": np.float32(100), "tol": np.float32(0.01)}
    async with open_app(model(FALLS), feeds) as screen:

        def role(text: str) -> set[Role]:
            return {
                role for line in screen.panes["body"].lines for message, role in line.spans if message.strip() == text
            }

        await screen.press("s")
        assert role("80.0") == {Role.DIM}
        await screen.press("n")
        assert role("64.0") == {Role.VALUE}


@pytest.mark.parametrize("size", SIZES)
async def test_ids_are_no_sizes(size: tuple[int, int]) -> None:
    w = np.random.default_rng(1).normal(size=50).astype(np.float32)
    async with open_app(model(DECODES), {"start": np.array([3]), "w": w}, size=size) as screen:
        await screen.press(*"s" * 9)
        frame = screen.session.frame
        ids = [str(item) for item in frame.scan_outputs["ids"].tolist()]
        edges = screen.text("back-edges")
        assert "norm" not in edges and f"… {' '.join(ids[-3:])}" in edges
        await screen.press(PANE_KEYS["scans"], "z")
        rows = screen.lines("scans")
        assert any(row.strip() == " ".join(ids) for row in rows), rows
        assert any(row.split() == ["8", *map(str, frame.scan_outputs["two"][8].tolist())] for row in rows), rows
        assert not set("░▒▓█▁▂▃▄▅▆▇") & set("".join(rows))
        figure = frame.plot()
        assert figure.axes[0].get_title("left") == "1 carried value of indices is left out"
        # What nothing would be left of is drawn.
        assert len(frame_figures.plot_norms(frame).axes[0].lines) == 1


def test_whose_trip_count_of_minus_one_is_meant() -> None:
    lesson = LESSONS_BY_NUMBER[12]
    message = str(next(card.text for card in lesson.cards if card.kind is CardKind.REMEMBER))
    systems = {letter: scene.load().graph.system for letter, scene in lesson.scenes.items()}
    assert [letter for letter, system in systems.items() if system is System.ONNX] == ["A", "C"]
    assert "A and C are ONNX, where no iteration runs with it" in message
