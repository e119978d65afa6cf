"""The console of the screen, and the keys that travel in time."""

from __future__ import annotations

import re

import numpy as np
import pytest

from app_driver import open_app
from loopdbg.tui.screens.output_panel import PanelScreen, QuitConfirmScreen
from text_models import model, sample


async def test_keys_step_back_and_forward() -> None:
    async with open_app(*sample("newton_sqrt.onnx")) as screen:
        await screen.press("s", "s", "s", "backspace")
        assert screen.session.frame.iteration == 2
        await screen.press("left")
        assert screen.session.frame.iteration == 1
        await screen.press("n", "n", "N")
        assert "▶ q" in screen.marked_line
        assert screen.session.frame.iteration == 1
        await screen.press("left", "left", "left")
        assert "this is where the session began" in screen.message
        assert screen.session.frame.iteration == 0


async def test_console_sets_a_breakpoint_and_a_key_returns_to_it() -> None:
    async with open_app(*sample("newton_sqrt.onnx")) as screen:
        await screen.press("B")
        assert screen.console_pane.input_line.value == "break "
        await screen.type("break if err < 1e-2")
        assert "breakpoint 1: if err < 1e-2" in screen.console_pane.text
        # A console opened for one line closes after the command, and its output appears on the message line.
        assert not screen.console_pane.display
        assert screen.message == "breakpoint 1: if err < 1e-2"
        await screen.press("colon")
        await screen.type("continue")
        assert screen.session.frame.iteration == 3
        assert "breakpoint 1" in screen.message
        await screen.type("print x")
        assert screen.console_pane.text.endswith("1.4142157")
        await screen.press("escape")
        # The message is still visible.
        assert not screen.console_pane.display and screen.console_pane.text.endswith("1.4142157")
        await screen.press("c", "c", "c", "c")
        assert screen.session.done
        await screen.press("C")
        assert screen.session.frame.iteration == 5
        # At the end of the model, and back in the loop, the screen still states its position.
        assert "breakpoint 1" in screen.message


async def test_console_errors_are_shown_in_console() -> None:
    async with open_app(*sample("newton_sqrt.onnx")) as screen:
        await screen.press("colon")
        await screen.type("print xx")
        assert "error: " in screen.console_pane.text and "xx" in screen.console_pane.text
        await screen.type("breik 3")
        assert "did you mean break" in screen.console_pane.text
        await screen.type("set x = 3")
        assert "branch 2" in screen.console_pane.text
        assert any("3.0" in line for line in screen.lines("back-edges"))


async def test_non_boolean_condition_stays_in_the_line_for_editing() -> None:
    async with open_app(*sample("newton_sqrt.onnx")) as screen:
        prompt = screen.console_pane
        await screen.press("1", "slash", *"root", "enter", "escape", "b")
        assert prompt.input_line.value == "break if root " and prompt.input_line.cursor_position == len(
            "break if root "
        )
        await screen.press("enter")
        assert not len(screen.session.breakpoints)
        assert prompt.display and prompt.input_line.value == "break if root"
        assert "float32 [] where true or false is needed" in prompt.text and "compare it" in prompt.text
        await screen.press(*" > 1", "enter")
        assert [breakpoint.text for breakpoint in screen.session.breakpoints] == ["if root > 1"] and not prompt.display


async def test_why_opens_its_own_screen_with_the_verdict_first() -> None:
    async with open_app(*sample("newton_sqrt.onnx")) as screen:
        await screen.press("s", "W")
        panel = screen.app.screen
        assert isinstance(panel, PanelScreen)
        lines = panel.text.splitlines()
        assert "goes on" in lines[0] and "err_new" in lines[0] and len(lines) > 2
        assert not screen.console_pane.display and screen.console_pane.text == ""
        # A key of the screen below acts there.
        await screen.press("c")
        assert screen.session.done and len(screen.app.screen_stack) == 1
        await screen.press("W")
        assert isinstance(screen.app.screen, PanelScreen) and "ended" in screen.app.screen.text.splitlines()[0]


async def test_arrows_recall_earlier_lines() -> None:
    async with open_app(*sample("newton_sqrt.onnx")) as screen:
        await screen.press("colon")
        await screen.type("print err")
        await screen.press("up")
        assert screen.console_pane.input_line.value == "print err"
        await screen.press("down")
        assert screen.console_pane.input_line.value == ""


async def test_message_of_a_key_keeps_the_body_visible_on_a_small_screen() -> None:
    async with open_app(*sample("newton_sqrt.onnx"), size=(80, 24)) as screen:
        await screen.press("s", "s", "l")
        seen = "\n".join(screen.visible_rows())
        assert "Source" in seen and "half = x * 0.5" in seen and "esc close" in seen
        await screen.press("escape")
        assert "Back edges" in "\n".join(screen.visible_rows())


@pytest.mark.parametrize("size", [(80, 24), (60, 24)])
async def test_listing_row_is_one_line_with_a_visible_value(size: tuple[int, int]) -> None:
    async with open_app(*sample("greedy_decoder.onnx"), size=size) as screen:
        await screen.press("s", "s", "l")
        drawn = [row for row in screen.visible_rows() if re.match(r" [ ▶] +\d+  ", row)]
        assert len(drawn) == 8, "as many as fit, and nothing between them"
        assert len({row.index(" │ min") for row in drawn}) == 1, "values stand below each other"
        split = next(row for row in drawn if "  10  " in row)
        assert "…" in split.partition(" │ ")[0] and split.rstrip().endswith("…"), "what is cut says so"
        # Only the screen truncates rows, and only rows of a listing.
        assert "h_z, h_r, h_n = Split(h_R, axis=0, num_outputs=3)" in screen.console_pane.text
        await screen.press("colon")
        await screen.type(f"echo {'word ' * 30}end")
        assert any(row.rstrip().endswith("end") for row in screen.visible_rows())


async def test_truncated_row_is_complete_on_a_wider_screen() -> None:
    async with open_app(*sample("greedy_decoder.onnx"), size=(80, 24)) as screen:
        await screen.press("s", "s", "l")
        assert not any("axis=0, num_outputs=3)" in row for row in screen.visible_rows()[-12:])
        await screen.pilot.resize_terminal(150, 40)
        await screen.wait_until_idle()
        assert any("axis=0, num_outputs=3)" in row for row in screen.visible_rows()[-18:])


async def test_quit_in_the_console_exits() -> None:
    async with open_app(*sample("newton_sqrt.onnx")) as screen:
        await screen.press("colon")
        screen.console_pane.input_line.value = "quit"
        await screen.press("enter")
        await screen.pilot.pause()
        assert not screen.app.is_running or screen.app.return_code == 0


async def test_console_fits_on_a_small_screen() -> None:
    async with open_app(*sample("newton_sqrt.onnx"), size=(80, 24)) as screen:
        await screen.press("s", "colon")
        for k in range(9):
            await screen.type(f"echo line {k}")
        seen = "\n".join(screen.visible_rows())
        assert "line 8" in seen and "Source  Loop" in seen and "esc close" in seen


FAILS = """
main (int64 n, float x0, float[2] w) => (float x_last) {
  x_last = Loop <body = body (int64 i, bool c, float x) => (bool go, float y) {
    go = Identity (c)
    g = Gather (w, i)
    y = Add (x, g)
  }> (n, , x0)
}
"""


async def test_failed_node_is_an_error_while_stopped_there() -> None:
    inputs = {"n": 5, "x0": np.float32(0), "w": np.ones(2, np.float32)}
    async with open_app(model(FAILS), inputs) as screen:
        await screen.press("c")
        output = screen.message
        assert output.startswith("error: Gather") and screen.status_message.has_class("-error")
        await screen.press("W", "escape")
        assert screen.message == output and screen.status_message.has_class("-error")
        await screen.press("left")
        assert screen.message.startswith("before iteration 2") and not screen.status_message.has_class("-error")


async def test_untestable_breakpoint_does_not_look_like_a_failing_node() -> None:
    async with open_app(*sample("newton_sqrt.onnx")) as screen:
        await screen.press("colon")
        await screen.type("break x_new if x[5] > 1")
        await screen.type("continue")
        assert "breakpoint 1 cannot be tested" in screen.console_pane.text
        assert "▶● x_new" in screen.marked_line


async def test_hidden_console_never_takes_the_keys() -> None:
    async with open_app(*sample("newton_sqrt.onnx")) as screen:
        # If the focused widget is hidden, as panes are before the first stop, the focus moves to one that can take it.
        screen.app.screen.set_focus(None)
        screen.console_pane.input_line.focus()
        await screen.pilot.pause()
        assert not screen.console_pane.input_line.has_focus
        await screen.press("s", "s")
        assert screen.session.frame.iteration == 2 and screen.console_pane.input_line.value == ""
        # An open console takes keys, also after it was closed and opened again.
        for _ in range(2):
            await screen.press("colon", "e", "c", "escape")
            assert not screen.console_pane.input_line.has_focus
        assert screen.session.frame.iteration == 2


async def test_error_is_shown_once_and_keeps_the_line() -> None:
    async with open_app(*sample("newton_sqrt.onnx")) as screen:
        await screen.press("e")
        await screen.type("set nothing = 3")
        # The error is in the transcript, and not below it as well.
        assert screen.console_pane.text.count("nothing") == 2 and "nothing" not in screen.message
        assert screen.console_pane.display and screen.console_pane.input_line.value == "set nothing = 3"
        await screen.type("set x = 3")
        assert not screen.console_pane.display and screen.message == "branch 2: x = 3"
        # The error of a key is shown on the message line, and not as a toast as well.
        await screen.press("c", "s")
        assert screen.message == "error: the model ran to its end; restart to run it again"
        assert not screen.app._notifications and not screen.console_pane.display


async def test_tab_completes_the_common_prefix_and_lists_the_candidates() -> None:
    async with open_app(*sample("newton_sqrt.onnx")) as screen:
        await screen.press("colon", *"print err", "tab")
        assert {"err", "err_new"} <= set(screen.console_pane.candidates.split())
        await screen.press("underscore", "tab")
        assert screen.console_pane.input_line.value == "print err_new" and screen.console_pane.candidates == ""
        await screen.press("escape", "colon", *"unti", "tab")
        assert screen.console_pane.input_line.value == "until"


async def test_prompt_completes_its_kind_of_answer() -> None:
    async with open_app(*sample("newton_sqrt.onnx")) as screen:
        # A name to go to, not a command; the prompt's sign stays.
        await screen.press("J", *"ha", "tab")
        assert screen.console_pane.input_line.value == "@half" and screen.console_pane.candidates.split() == [
            "half",
            "half_q",
        ]
        await screen.press(*"_q", "enter")
        assert screen.source_pane.target is not None and "half_q" in screen.source_pane.target.text(screen.screen_state)
        await screen.press("J", *"conti", "tab")
        assert screen.console_pane.input_line.value == "@conti"
        # A search text can be anything.
        await screen.press("escape", "slash", *"chan", "tab")
        assert screen.console_pane.input_line.value == "/chan" and screen.console_pane.candidates == ""
        await screen.press("escape")


async def test_prompt_recalls_lines_of_its_own_kind() -> None:
    async with open_app(*sample("newton_sqrt.onnx")) as screen:
        await screen.press("slash", *"err", "enter", "colon")
        await screen.type("print x")
        await screen.press("escape", "slash", "up")
        assert screen.console_pane.input_line.value == "/err"
        await screen.press("up", "down")
        assert screen.console_pane.input_line.value == "/"
        await screen.press("escape", "colon", "up")
        assert screen.console_pane.input_line.value == "print x"


async def test_transcript_is_kept_and_scrolls() -> None:
    async with open_app(*sample("newton_sqrt.onnx")) as screen:
        await screen.press("colon")
        await screen.type("help")
        assert any("repro DIR" in line for line in screen.visible_rows())
        await screen.press(*("pageup",) * 12)
        assert any("> help" in line for line in screen.visible_rows())
        assert not any("repro DIR" in line for line in screen.visible_rows())
        await screen.press(*("pagedown",) * 12)
        assert any("repro DIR" in line for line in screen.visible_rows())
        await screen.press("escape", "s", "colon")
        assert "> help" in screen.console_pane.text


async def test_quit_confirms_only_if_something_would_be_lost() -> None:
    async with open_app(*sample("newton_sqrt.onnx")) as screen:
        await screen.press("s", "e")
        await screen.type("set x = 3")
        await screen.press("q")
        assert isinstance(screen.app.screen, QuitConfirmScreen) and "branch 2: x = 3" in screen.app.screen.text
        await screen.press("escape")
        assert screen.app.is_running and len(screen.app.screen_stack) == 1
        await screen.pilot.press("q", "q")
    assert screen.app.return_value == 0
    async with open_app(*sample("newton_sqrt.onnx")) as screen:
        await screen.press("s")
        await screen.pilot.press("q")
    assert screen.app.return_value == 0


async def test_console_opened_by_a_key_closes_after_its_line() -> None:
    async with open_app(*sample("newton_sqrt.onnx")) as screen:
        await screen.press("g")
        assert screen.console_pane.input_line.value == "goto "
        await screen.type("goto 3")
        assert not screen.console_pane.display and screen.session.frame.iteration == 3
        # The panes get the keys again.
        await screen.press("s")
        assert screen.session.frame.iteration == 4


@pytest.mark.parametrize("enter", ["enter", "ctrl+j"])  # the latter: input before the terminal is in raw mode
async def test_type_ahead_goes_to_the_line_that_was_opened(enter: str) -> None:
    async with open_app(*sample("newton_sqrt.onnx")) as screen:
        # All at once, as when someone pastes: most of these letters are also actions.
        for key in ("colon", *"branch", enter):
            screen.app.simulate_key(key)
        await screen.pilot.pause(0.5)
        await screen.wait_until_idle()
        assert screen.console_pane.text.endswith("> branch\n▸ 1 the run") and screen.session.frame.iteration == 0
