"""The source code lines that a listing comes from, on the screen."""

from __future__ import annotations

from app_driver import open_app
from loopdbg.tui.screens.inspector import InspectorScreen
from text_models import sample

CODE = "       # power_iteration.py:18  for _ in range(max_iterations):"


async def test_source_code_is_above_its_statements() -> None:
    async with open_app(*sample("power_iteration.onnx"), size=(200, 60)) as screen:
        lines = screen.lines("body")
        index = lines.index(CODE)
        assert lines[index + 1].split(" #")[0].strip().startswith("4  for i in range(max_iterations)")
        await screen.press("n", "n")
        assert screen.marked_line.startswith("▶ v_new = Av / length")
        assert "line 7   Div 'Div_2' (power_iteration.py:10)" in screen.debugger.action_context.target.text(
            screen.screen_state
        )  # type: ignore[union-attr, arg-type]


async def test_small_screen_uses_its_lines_for_the_listing() -> None:
    async with open_app(*sample("power_iteration.onnx"), size=(80, 24)) as screen:
        assert not any("power_iteration.py" in line for line in screen.lines("body"))
        await screen.press("1", "v")
        assert any("power_iteration.py:9" in line for line in screen.lines("body"))
        assert all(len(line) <= 76 for line in screen.lines("body"))


async def test_cursor_stays_on_its_line() -> None:
    async with open_app(*sample("power_iteration.onnx"), size=(120, 36)) as screen:
        await screen.press("n", "n", "n", "1")
        before = screen.debugger.action_context.target
        for _ in range(2):
            await screen.press("v")
            assert screen.debugger.action_context.target == before
            assert screen.marked_line.startswith("▶ estimate_new")


async def test_breakpoint_on_a_source_row_is_on_the_line_below() -> None:
    async with open_app(*sample("power_iteration.onnx"), size=(120, 36)) as screen:
        await screen.press("n", "1", "up")
        await screen.press("b")
        assert [breakpoint.text for breakpoint in screen.session.breakpoints] == ["line 6"]


async def test_breakpoint_command_takes_a_source_line() -> None:
    async with open_app(*sample("power_iteration.onnx"), size=(120, 36)) as screen:
        await screen.press("B")
        assert screen.console_pane.input_line.value == "break "
        assert "breakpoint 1: power_iteration.py:12, line 9" in await screen.type("break power_iteration.py:12")


async def test_model_without_source_code_gives_a_message() -> None:
    async with open_app(*sample("newton_sqrt.onnx")) as screen:
        await screen.press("1", "v")
        assert "does not tell what code" in screen.message


async def test_script_lines_are_shown_on_request() -> None:
    async with open_app(*sample("trt/counted.py"), size=(120, 36)) as screen:
        assert not any("# counted.py" in line for line in screen.lines("body"))
        await screen.press("1", "v")
        assert any("# counted.py" in line for line in screen.lines("body"))


async def test_inspector_shows_the_code_of_its_value() -> None:
    async with open_app(*sample("power_iteration.onnx"), size=(80, 24)) as screen:
        await screen.press("s", "s", "2", "home", "down", "down", "enter")
        inspector = screen.app.screen
        assert isinstance(inspector, InspectorScreen)
        assert inspector.text.splitlines()[1] == "power_iteration.py:11  new_estimate = v @ product"
        assert "\n power_iteration.py:11  new_estimate = v @ product" in "\n".join(screen.visible_rows())


async def test_inspector_without_source_code_has_no_code_line() -> None:
    async with open_app(*sample("newton_sqrt.onnx"), size=(80, 24)) as screen:
        await screen.press("s", "2", "home", "down", "enter")
        inspector = screen.app.screen
        assert isinstance(inspector, InspectorScreen)
        assert str(inspector.title_label.content).count("\n") == 0
