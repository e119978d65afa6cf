"""Plots cover every iteration, however the session reached its position, and update during a run."""

from __future__ import annotations

import numpy as np
import pytest
from rich.cells import cell_len

from app_driver import AppDriver, open_app, sample
from loopdbg.tui.render.styled_text import WidestColumns
from loopdbg.tui.widgets.back_edges import BackEdgesPane
from text_models import SAMPLES, load_proto, model, proto, rename_values

NAMES = sorted(path.name for path in (*SAMPLES.glob("*.onnx"), *SAMPLES.glob("*.xml")))
PICTURES = ("back-edges", "condition", "scans")


def shown(screen: AppDriver) -> dict[str, str]:
    """The plots, in columns as wide as their present content: on the screen columns never shrink."""
    edges = screen.panes["back-edges"]
    assert isinstance(edges, BackEdgesPane)
    edges._column_widths = WidestColumns()
    edges.rebuild()
    return {pane: screen.text(pane) for pane in PICTURES}


async def stepped_to_the_end(screen: AppDriver) -> None:
    """Step to the end with one key per iteration of the outermost loop."""
    while not screen.session.done and screen.session.stop.reason != "limit":
        await screen.press("s")


NORMAL = (120, 36)
#: Every sample except the one that takes hundreds of keys; three of them at all sizes.
CASES = [(name, NORMAL) for name in NAMES if name != "mandelbrot.onnx"]
CASES += [
    (name, size) for name in ("newton_sqrt.onnx", "lstm.xml", "greedy_decoder.onnx") for size in ((80, 24), (200, 60))
]


@pytest.mark.parametrize(("name", "size"), CASES, ids=str)
async def test_one_command_plots_what_stepping_plots(name: str, size: tuple[int, int]) -> None:
    async with open_app(*sample(name), size=size, max_iterations=20) as screen:
        await stepped_to_the_end(screen)
        stepped = shown(screen)
    async with open_app(*sample(name), size=size, max_iterations=20) as screen:
        await screen.press("c")
        assert shown(screen) == stepped


async def test_going_back_restores_the_plots() -> None:
    async with open_app(*sample("newton_sqrt.onnx")) as screen:
        await screen.press("s", "s", "s")
        before = shown(screen)
        await screen.press("c", "r", "s", "s", "s")
        assert shown(screen) == before


async def test_rounding_noise_is_plotted_flat() -> None:
    async with open_app(*sample("power_iteration.onnx"), size=(200, 60)) as screen:
        await screen.press("c")
        rows = screen.lines("back-edges")
        # Only the norm is constant: the elements change, and the column of changes shows by how much.
        assert "────" in rows[1] and "flat" not in rows[1] and "±" in rows[1]
        assert "flat" not in rows[2]
        assert "v: norm moves by" in rows[3]


async def test_rounding_noise_before_a_nan_is_plotted_flat() -> None:
    async with open_app(*sample("vanishing_scale.onnx"), size=(120, 36)) as screen:
        await screen.press("c")
        drawn = [row for row in screen.lines("scans") if "×" in row]
        assert drawn
        assert all(set(row.strip()) <= set("×⣀⡀⢀▁ ") for row in screen.lines("scans")[2:] if row.strip())


async def test_condition_shows_progress_and_estimated_end() -> None:
    async with open_app(*sample("newton_sqrt.onnx"), size=(120, 60)) as screen:
        await screen.press("s", "s", "s")
        text = screen.text("condition")
        assert "3.4 decades apart, estimate: about" in text
        assert "seen   T T T T" in text
        assert "log scale" in text


LONG = """g (int64 M, float v0, float a) => (float v, float[n] vs, float[n,200] rows) {
  v, vs, rows = Loop (M, , v0) <body = body (int64 i, bool c, float x) => (bool k, float z, float s, float[200] row) {
    k = Identity (c)
    z = Mul (x, a)
    s = Identity (z)
    two_hundred = Constant <value_ints = [200]> ()
    row = Expand (z, two_hundred)
  }>
}"""


async def test_long_runs_are_aggregated_with_a_note() -> None:
    inputs = {"M": np.array(3000), "v0": np.float32(1), "a": np.float32(0.999)}
    async with open_app(model(LONG), inputs, size=(120, 60)) as screen:
        await screen.press("c")
        assert "every iteration 0–3000, 1 cell = " in screen.text("back-edges")
        scans = screen.text("scans")
        assert "iterations 0–2999, 1 cell = " in scans
        assert "1 line = " in scans
        assert "░▒▓█" in scans
        body = next(line for line in screen.lines("scans") if line.lstrip().startswith("0 "))
        assert "█" in body


ENDLESS = """g (int64 M, float v0, float limit) => (float v) {
  yes = Constant <value_int = 1> ()
  go = Cast <to = 9> (yes)
  v = Loop (M, go, v0) <body = body (int64 i, bool c, float x) => (bool k, float z) {
    one = Constant <value_float = 1.0> ()
    z = Add (x, one)
    k = Less (z, limit)
  }>
}"""


async def test_plots_update_while_a_loop_runs() -> None:
    inputs = {"M": np.array(2**62), "v0": np.float32(0), "limit": np.float32(1e30)}
    async with open_app(model(ENDLESS), inputs) as screen:
        seen: set[str] = set()

        def moved() -> bool:
            text = screen.text("back-edges")
            if "1 cell = " in text:
                seen.add(text)
            return len(seen) >= 3

        await screen.press_and_wait("c", moved)
        assert "apart" in screen.text("condition")
        screen.session_worker.interrupt()
        await screen.wait_until_idle()
        assert f"–{screen.session.frame.iteration}" in screen.text("back-edges")


GROWS = """g (int64 M, float[3] v0, float[20000] w0) => (float[3] v, float[20000] w, float[n] vs, float[n,3] rows) {
  v, w, vs, rows = Loop (M, , v0, w0) <body = body (int64 i, bool c, float[3] x, float[20000] y)
      => (bool k, float[3] z, float[20000] u, float s, float[3] row) {
    k = Identity (c)
    one = Constant <value_floats = [1.0]> ()
    z = Add (x, one)
    u = Add (y, one)
    s = ReduceSum <keepdims = 0> (z)
    row = Identity (z)
  }>
}"""


async def test_scan_outputs_and_carried_tensors_update_while_a_loop_runs() -> None:
    inputs = {"M": np.array(2**40), "v0": np.zeros(3, np.float32), "w0": np.ones(20000, np.float32)}
    async with open_app(model(GROWS), inputs, size=(200, 60)) as screen:
        await screen.press("s")
        counts: list[int] = []
        edges: list[str] = []

        def moved() -> bool:
            scans, carried = screen.lines("scans"), screen.lines("back-edges")
            count = int(scans[0].split("  ")[2].split()[0])
            assert f"[{count}]" in scans[0]
            assert all("·" not in line.partition("→")[2] for line in carried[1:3])
            if count > 2 and count not in counts:
                counts.append(count)
                edges.append(carried[1])
                # All values are of the same moment.
                assert f"iteration {count - 1} → {count}" in screen.text("back-edges")
                assert f"iterations 0–{count - 1}" in screen.text("scans")
                # Values too large to be copied are reported from the history.
                assert "norm" in carried[2]
            return len(counts) >= 4

        await screen.press_and_wait("c", moved)
        assert counts == sorted(counts)
        assert len(set(edges)) >= 4
        assert screen.session_worker.busy
        # The timeline advances as well.
        assert "▼" in screen.text("timeline") and screen.panes["timeline"].lines[0].target.iteration > 2
        screen.session_worker.interrupt()
        await screen.wait_until_idle()
        frame = screen.session.frame
        assert f"[{frame.iteration}]" in screen.lines("scans")[0]


SPIKE = """g (int64 M, float x0, float w0) => (float x_last, float w_last) {
  x_last, w_last = Loop (M, , x0, w0) <body = body (int64 i, bool c, float x, float wide_name)
      => (bool k, float y, float z) {
    k = Identity (c)
    at = Constant <value_int = 7> ()
    peak = Constant <value_float = 1234.0> ()
    one = Constant <value_float = 1.0> ()
    here = Equal (i, at)
    y = Where (here, peak, one)
    z = Neg (y)
  }>
}"""


async def test_history_with_a_spike_stays_within_its_frame() -> None:
    """This includes histories next to names with wide characters."""
    spike = proto(SPIKE)
    # The text form of ONNX does not allow such names.
    body = next(item.g for node in spike.graph.node for item in node.attribute if item.name == "body")
    rename_values(body, {"wide_name": "値の名"})
    inputs = {"M": np.array(600), "x0": np.float32(1), "w0": np.float32(1)}
    async with open_app(load_proto(spike), inputs) as screen:
        pane = screen.panes["back-edges"]
        for stop in (9, 12, 599):
            await screen.press("colon")
            await screen.type(f"goto {stop}")
            await screen.press("escape")
            assert "値の名" in screen.text("back-edges") and "hist" in screen.text("back-edges")
            assert max(cell_len(line.text) for line in pane.lines) <= pane._built_size.width
