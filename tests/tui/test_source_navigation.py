"""Going to a source line, running to it, undoing edits, and the frames in the header."""

from __future__ import annotations

import numpy as np
import pytest

from app_driver import AppDriver, open_app
from loopdbg.tui.render.targets import LineTarget
from text_models import NESTED, model, sample

NEWTON = "newton_sqrt.onnx"


def cursor_line(screen: AppDriver) -> int:
    """The number of the line at the cursor."""
    target = screen.source_pane.target
    assert isinstance(target, LineTarget)
    return target.number


def number_of(screen: AppDriver, text: str) -> int:
    """The number of the line that begins with a text."""
    return next(line.number for line in screen.source_pane.all_source_lines if line.text.startswith(text))


@pytest.mark.parametrize("key", ["ctrl+g", "J"])
async def test_goto_line_by_number_or_name(key: str) -> None:
    async with open_app(*sample(NEWTON)) as screen:
        wanted = number_of(screen, "change =")
        for typed in (str(wanted), "change", "Sub_4"):
            await screen.press("2", key)
            await screen.type(f"@{typed}")
            assert cursor_line(screen) == wanted and screen.source_pane.has_focus and not screen.console_pane.display


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("99", "error: there is no line 99; the model has"),
        ("chnge", "error: no line makes or runs 'chnge'; did you mean 'change'?"),
    ],
)
async def test_unknown_line_leaves_the_cursor(typed: str, message: str) -> None:
    async with open_app(*sample(NEWTON)) as screen:
        before = cursor_line(screen)
        await screen.press("ctrl+g")
        await screen.type(f"@{typed}")
        assert screen.message.startswith(message) and cursor_line(screen) == before


async def test_hidden_line_is_unfolded_and_the_focused_loop_comes_first() -> None:
    async with open_app(model(NESTED), {"M": np.array(3), "K": np.array(2)}) as screen:
        await screen.press("slash", *"for j", "enter", "escape", "minus")
        assert any("… " in line for line in screen.lines("body"))
        inner = number_of(screen, "d_out =")
        await screen.press("ctrl+g")
        await screen.type("@d_out")
        assert cursor_line(screen) == inner and not any("… " in line for line in screen.lines("body"))


@pytest.mark.parametrize("key", ["T", "f4"])
async def test_run_to_cursor_stops_there_and_leaves_no_breakpoint(key: str) -> None:
    async with open_app(*sample(NEWTON)) as screen:
        await screen.press("ctrl+g")
        await screen.type("@change")
        for iteration in range(3):
            await screen.press(key)
            assert screen.marked_line.startswith("▶ change = x_new - x")
            assert screen.session.frame.iteration == iteration
        assert not len(screen.session.breakpoints) and " none" in screen.text("breakpoints")


async def test_run_to_cursor_ends_at_an_earlier_stop() -> None:
    async with open_app(*sample(NEWTON)) as screen:
        await screen.press("colon")
        await screen.type("break half_q")
        await screen.press("escape", "ctrl+g")
        await screen.type("@change")
        await screen.press("T")
        assert screen.marked_line.startswith("▶● half_q") and "breakpoint 1 (half_q)" in screen.message
        assert [breakpoint.text for breakpoint in screen.session.breakpoints] == ["half_q"]


async def test_line_without_a_node_gives_a_message() -> None:
    async with open_app(*sample(NEWTON)) as screen:
        await screen.press("end", "T")
        assert screen.message.startswith("nothing runs on this line")
        assert screen.session.frame.iteration == 0


async def test_edits_are_undone_one_by_one() -> None:
    async with open_app(*sample(NEWTON)) as screen:
        await screen.press("s", "s")
        before = [row.split()[:6] for row in screen.lines("back-edges")[1:]]
        await screen.press("colon")
        await screen.type("set x = 3")
        await screen.press("escape", "s")
        await screen.press("colon")
        await screen.type("set err = 7")
        await screen.press("escape", "c", "U")
        assert screen.message.startswith("undone: err = 7; before iteration 3")
        await screen.press("U")
        assert screen.message.startswith("undone: x = 3; before iteration 2")
        assert [row.split()[:6] for row in screen.lines("back-edges")[1:]] == before and "branch" not in screen.header
        await screen.press("U")
        assert screen.message == "error: nothing was set on this branch"


async def test_click_on_a_header_frame_selects_it() -> None:
    async with open_app(model(NESTED), {"M": np.array(3), "K": np.array(2)}) as screen:
        await screen.press("s", "n", "i", "s")
        assert "main ▸ Loop_1 1/3 ▸ Loop 'Loop_1'  " in screen.header and "iteration 1 / 2" in screen.header
        await screen.pilot.click("#header", offset=(screen.header.index("Loop_1 1/3") + 1, 0))
        await screen.wait_until_idle()
        assert screen.screen_state is not None and screen.screen_state.depth == 1
        assert screen.session_worker.console.selected_index == 1
        assert "main ▸ Loop 'Loop_1' ▸ Loop_1 1/2" in screen.header and "iteration 1 / 3" in screen.header
        await screen.pilot.click("#header", offset=(screen.header.index("main") + 1, 0))
        await screen.wait_until_idle()
        assert screen.screen_state.depth == 0 and "main ▸ Loop_1 1/3 ▸ Loop_1 1/2" in screen.header


async def test_little_space_keeps_focused_frame() -> None:
    async with open_app(model(NESTED), {"M": np.array(3), "K": np.array(2)}, size=(50, 20)) as screen:
        await screen.press("n", "i", "s")
        assert "▸ … ▸ Loop 'Loop_1' 1/2" in screen.header
