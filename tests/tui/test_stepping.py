"""Stepping in the app: at every stop the screen shows what ``session.frame`` contains."""

from __future__ import annotations

import re

import numpy as np
import pytest

from app_driver import AppDriver, open_app
from loopdbg.runtime.frame import Frame, NodeState
from loopdbg.tui.render.formatting import delta_text, type_text, value_text
from text_models import BRANCHES, model, sample


def assert_shows(screen: AppDriver, frame: Frame) -> None:
    """Compare header, back edges, condition, scan outputs and body of the screen with the frame."""
    ended = frame.stopped_by is not None
    limit = "no limit" if frame.trip_count is None else frame.trip_count
    assert f"{'ended after' if ended else 'iteration'} {frame.iteration} / {limit}" in screen.header
    assert f"Loop '{frame.name}'" in screen.header

    rows = screen.lines("back-edges")[1:]
    first = frame.at_boundary and not frame.iteration
    for row, edge in zip(rows, frame.back_edges, strict=True):
        cells = row.split()
        assert cells[0] == edge.param
        previous, new = row.split("→")
        assert previous.split()[-1] == ("·" if first else value_text(edge.previous))
        assert new.split()[0] == (value_text(edge.value) if edge.ready else "·")
        if edge.ready and not first:
            assert new.split()[1] == delta_text(edge.previous, edge.value)

    if frame.at_boundary and frame.condition is not None:
        now = next(line for line in screen.lines("condition") if line.startswith("now"))
        assert now.split()[1] == ("true" if frame.condition else "false")
        seen = next(line for line in screen.lines("condition") if line.startswith("seen"))
        assert seen.split()[-1] == ("T" if frame.condition else "F")

    for name, value in frame.scan_outputs.items():
        row = next(line for line in screen.lines("scans") if line.startswith(f"{name} "))
        assert f"  {type_text(value.dtype, value.shape)}  " in row
        if len(value):
            assert f"last {value_text(value[-1])}" in row

    for node in frame.nodes:
        name = node.node.outputs[0].name  # type: ignore[union-attr]
        if node.state is NodeState.NEXT:
            assert screen.marked_line[2:].split()[0] == name
        computed = node.state is NodeState.DONE or (frame.at_boundary and frame.iteration)
        if node.node.outputs and node.state is not NodeState.SKIPPED:
            assert screen.value_next_to(name) == (value_text(frame.values[name]) if computed else "·")


async def test_newton_sqrt_runs_to_its_end() -> None:
    async with open_app(*sample("newton_sqrt.onnx")) as screen:
        for iteration in range(6):
            frame = screen.session.frame
            assert frame.iteration == iteration
            assert_shows(screen, frame)
            seen = next(line for line in screen.lines("condition") if line.startswith("seen"))
            assert seen.split()[1:] == ["T"] * min(iteration + 1, 5) + ["F"] * (iteration == 5)
            await screen.press("s")
        assert screen.session.done
        assert "■ ended" in screen.header
        outputs = screen.text("outputs")
        for name, value in (screen.session.outputs or {}).items():
            assert f"{name}" in outputs and type_text(value.dtype, value.shape) in outputs
        assert "1.4142135" in outputs
        assert "r restarts" in screen.message
        await screen.press("s")
        assert screen.message == "error: the model ran to its end; restart to run it again"


async def test_loop_end_is_a_stop_with_its_reason() -> None:
    async with open_app(*sample("newton_sqrt.onnx")) as screen:
        await screen.press("f")
        assert screen.session.stop.reason == "loop end"
        assert_shows(screen, screen.session.frame)
        assert "paused: loop end" in screen.header
        assert "ended after 5 iterations: the condition is false" in screen.text("condition")
        assert screen.marked_line.startswith("▶ root = x")
        assert screen.lines("body")[-1] == "ended after 5 iterations: the condition is false"


async def test_step_by_node() -> None:
    async with open_app(*sample("newton_sqrt.onnx")) as screen:
        await screen.press("s")
        names = ["half", "q", "half_q", "x_new", "change", "err_new", "keep"]
        for k, name in enumerate(names):
            assert screen.marked_line[2:].split()[0] == name
            assert_shows(screen, screen.session.frame)
            if k:
                assert "values of iteration 1, so far" in screen.text("body")
            await screen.press("n")
        assert screen.session.frame.at_boundary
        assert screen.session.frame.iteration == 2
        assert_shows(screen, screen.session.frame)


async def test_back_edge_is_ready_once_its_result_is_computed() -> None:
    async with open_app(*sample("newton_sqrt.onnx")) as screen:
        await screen.press("s", "n", "n", "n")
        assert screen.lines("back-edges")[1].split()[3:5] == ["→", "·"] or "→ ·" in screen.lines("back-edges")[1]
        assert "keep is not computed yet" in screen.text("condition")
        await screen.press("n")
        assert f"→ {value_text(screen.session.frame.values['x_new'])}" in screen.lines("back-edges")[1]


async def test_every_sample_loop_step_by_step() -> None:
    for name in ("counter.onnx", "spec_ab.onnx"):
        async with open_app(*sample(name), size=(160, 40)) as screen:
            while not screen.session.done:
                assert_shows(screen, screen.session.frame)
                await screen.press("s")


async def test_step_into_and_finish_nested_loops() -> None:
    async with open_app(*sample("mandelbrot.onnx")) as screen:
        assert "main ▸ Loop 'pixels'" in screen.header
        assert "iteration 0 / 288" in screen.header
        await screen.press(*"nnnnnnnn")
        assert screen.marked_line.startswith("▶ for k in range(max_iterations):")
        await screen.press("i")
        assert "main ▸ pixels 0/288 ▸ Loop 'escape'" in screen.header
        assert_shows(screen, screen.session.frame)
        stack = screen.lines("stack")
        assert [line[2:].split()[0] for line in stack] == ["main", "pixels", "escape"]
        assert stack[1].split()[1:] == ["iter", "0/288"] and stack[2].startswith("▸ escape  iter 0/20")
        await screen.press("f")
        assert screen.session.stop.reason == "loop end"
        assert_shows(screen, screen.session.frame)
        await screen.press("f")
        assert screen.session.frame.name == "pixels"
        assert screen.session.frame.iteration == 288


async def test_outer_frames_can_be_inspected() -> None:
    async with open_app(*sample("mandelbrot.onnx")) as screen:
        screen.session.step(36)
        await screen.press("s", *"nnnnnnnn", "i", "s")
        assert "Source  Loop 'escape'" in screen.text("body")
        await screen.press("left_square_bracket")
        assert "Source  Loop 'pixels'" in screen.text("body")
        assert screen.marked_line.startswith("▶ for k in range(max_iterations):")
        assert screen.value_next_to("c_re") == value_text(screen.session.frames[1].values["c_re"])
        assert "iteration 37 / 288" in screen.header
        await screen.press("left_square_bracket", "left_square_bracket")
        assert "main graph" in screen.text("body")
        await screen.press("right_square_bracket")
        assert "Source  Loop 'pixels'" in screen.text("body")
        # The next stop shows the innermost frame again.
        await screen.press("s")
        assert "Source  Loop 'escape'" in screen.text("body")


async def test_restart_returns_to_the_beginning() -> None:
    async with open_app(*sample("newton_sqrt.onnx")) as screen:
        await screen.press("s", "s", "n", "c")
        assert screen.session.done
        await screen.press("r")
        assert "iteration 0 / no limit" in screen.header
        assert_shows(screen, screen.session.frame)
        assert screen.lines("back-edges")[1].split()[0] == "x"
        assert "initial values" in screen.text("back-edges")


async def test_untaken_branches_are_marked() -> None:
    async with open_app(model(BRANCHES), {"M": np.array(4), "v0": np.array(1.5, np.float32)}) as screen:
        # Iteration 0 takes the then branch, iteration 1 the else branch.
        await screen.press("s")
        assert screen.value_next_to("up") == "2.5"
        assert screen.value_next_to("x2") == "–"
        await screen.press(*"nnnnn")
        assert screen.session.frame.iteration == 1
        assert screen.marked_line[2:].split()[0] == "x2"
        assert screen.value_next_to("up") == "–"
        await screen.press("n")
        assert screen.value_next_to("x2") == "6.25"


@pytest.mark.parametrize("size", [(80, 24), (120, 36), (200, 60), (100, 24)])
async def test_essential_panes_are_visible_at_every_size(size: tuple[int, int]) -> None:
    async with open_app(*sample("newton_sqrt.onnx"), size=size) as screen:
        await screen.press("s", "s", "s", "n", "n")
        seen = screen.visible_rows()
        assert len(seen) == size[1]
        text = "\n".join(seen)
        if screen.pane_grid.is_small:
            # The rest is on other tabs.
            for key, tab in (("6", "Outputs"), ("2", "Values")):
                await screen.press(key)
                assert f"[{tab}]" in screen.visible_rows()[1]
                seen += screen.visible_rows()
            text = "\n".join(seen)
        for wanted in (
            "Loop 'sqrt'",
            "iteration 3 / no limit",
            "paused: node",
            "half_q = q",
            "Source  Loop 'sqrt'",
            "Back edges",
            "previous",
            "Condition  keep = err_new > tol",
            "Scan outputs",
            "f32 [3]",
            "s step",
            "q quit",
        ):
            assert wanted in text, f"{wanted!r} is not in sight:\n{text}"
        for name in ("x", "err"):
            assert any(re.search(rf"│[ ▌]{name} .*→", line) for line in seen)


async def test_resize_keeps_the_content() -> None:
    async with open_app(*sample("two_layer_lstm.onnx"), size=(200, 60)) as screen:
        await screen.press("s", "s")
        for size in ((80, 24), (120, 36), (60, 15), (30, 8), (200, 60), (80, 24)):
            await screen.pilot.resize_terminal(*size)
            await screen.pilot.pause()
            seen = screen.visible_rows()
            assert len(seen) == size[1]
            if size[0] >= 80:
                assert "iteration 2 / 16" in seen[0]
                assert any("cond_out = True" in line and "▶" in line for line in seen)


async def test_current_node_of_a_long_body_stays_visible() -> None:
    async with open_app(*sample("two_layer_lstm.onnx"), size=(80, 24)) as screen:
        for _ in range(15):
            await screen.press("n")
            marked = screen.marked_line[:20]
            assert marked and any(marked[2:] in line and "▶" in line for line in screen.visible_rows())
