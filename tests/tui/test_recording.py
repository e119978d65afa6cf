"""A recording on the screen: its console, its keys, and what it refuses."""

from __future__ import annotations

from pathlib import Path

from app_driver import open_recording


async def test_console_has_breakpoints_and_expressions(tmp_path: Path) -> None:
    async with open_recording(tmp_path / "t.loopdb", "newton_sqrt.onnx") as screen:
        await screen.press("colon")
        assert screen.console_pane.input_line.value == ""
        assert await screen.type("break if err < 1e-2") == "breakpoint 1: if err < 1e-2"
        await screen.type("continue")
        assert "breakpoint 1" in screen.message and "iteration 3 / no limit" in screen.header
        assert await screen.type("print x - prev(x)") == "-0.0024510622"
        assert "goes on" in await screen.type("why")
        await screen.press("escape", "c", "c", "c")
        assert "ended" in screen.header
        await screen.press("C")
        assert "breakpoint 1" in screen.message and "ended after 5" in screen.header


async def test_unrecorded_values_are_not_shown_as_pending(tmp_path: Path) -> None:
    async with open_recording(tmp_path / "t.loopdb", "newton_sqrt.onnx") as screen:
        assert "not computed yet" in str(screen.detail_line.text)
        await screen.press("s")
        assert "half" in screen.detail_line.text and screen.detail_line.text.endswith("not recorded")
        await screen.press("enter")
        assert "not recorded" in screen.app.screen.text and "not computed" not in screen.app.screen.text  # type: ignore[attr-defined]
        await screen.press("escape", "c")
        assert screen.detail_line.text.endswith("not recorded")


async def test_keys_open_the_console(tmp_path: Path) -> None:
    async with open_recording(tmp_path / "t.loopdb", "newton_sqrt.onnx") as screen:
        await screen.press("s", "W")
        assert "err_new > tol" in screen.app.screen.text  # type: ignore[attr-defined]
        await screen.press("escape", "l")
        assert "x_new = half + half_q" in screen.console_pane.text
        await screen.press("escape", "g")
        await screen.type("goto 4")
        assert "iteration 4 / no limit" in screen.header
        await screen.press("escape", "left")
        assert "iteration 3 / no limit" in screen.header


async def test_commands_that_need_a_run_report_in_console(tmp_path: Path) -> None:
    async with open_recording(tmp_path / "t.loopdb", "newton_sqrt.onnx") as screen:
        await screen.press("colon")
        output = await screen.type("set x = 3")
        assert output.startswith("error: changing a value is not possible: this is a recording")
        assert "boundaries only" in await screen.type("break x_new")
        assert "iteration 0 / no limit" in screen.header
        await screen.press("escape", "N")
        assert "stepping by nodes is not possible" in screen.message


async def test_key_goes_back_to_the_origin_of_a_nan(tmp_path: Path) -> None:
    async with open_recording(tmp_path / "t.loopdb", "vanishing_scale.onnx", nodes=True) as screen:
        await screen.press("colon")
        await screen.type("break nan")
        await screen.type("continue")
        assert "Div 'Div_1' gave NaN or Inf in iteration 137" in screen.message
        await screen.type("delete")
        await screen.type("continue")
        await screen.type("break nan")
        await screen.type("reverse-continue")
        assert "Div 'Div_1' gave NaN or Inf in iteration 137" in screen.message
