"""Pasted text is kept: several lines run one after the other, and lines that cannot run are reported."""

from __future__ import annotations

import pytest
from textual import events

from app_driver import AppDriver, open_app
from loopdbg.tui.widgets.line_input import LineInput, pasted_lines
from text_models import sample


async def paste(screen: AppDriver, text: str) -> None:
    screen.app.post_message(events.Paste(text))
    await screen.pilot.pause()
    await screen.wait_until_idle()


async def until_entered(screen: AppDriver, line: str) -> None:
    """Press enter, and wait until a line was run."""
    await screen.press("enter")
    await screen.wait_until(lambda: f"> {line}\n" in screen.console_pane.text and not screen.session_worker.busy)
    await screen.wait_until_idle()


def test_text_is_split_into_lines() -> None:
    assert pasted_lines("a\r\n\tb\n\n c\x1b[31m d\u00a0e\n") == ["a", "b", "c\\x1b[31m d e"]
    assert pasted_lines("\n\r\n") == []


@pytest.mark.parametrize("text", ["step\nstep\necho done", "step\r\nstep\r\n\r\necho done\r\n"])
async def test_pasted_commands_run_one_after_the_other(text: str) -> None:
    async with open_app(*sample("newton_sqrt.onnx")) as screen:
        await screen.press("colon")
        await paste(screen, text)
        assert screen.console_pane.input_line.value == "step" and screen.session.frame.iteration == 0
        assert "\n  step\n  echo done" in screen.console_pane.text
        await until_entered(screen, "echo done")
        assert screen.session.frame.iteration == 2 and screen.console_pane.text.endswith("done")
        # Nothing is left over for the next line.
        await screen.type("step")
        assert screen.session.frame.iteration == 3


async def test_paste_keeps_surrounding_text() -> None:
    async with open_app(*sample("newton_sqrt.onnx")) as screen:
        await screen.press("colon", *"echo ", *" end", *("left",) * 4)
        await paste(screen, "a\necho b")
        await until_entered(screen, "echo b end")
        assert "> echo a\na\n" in screen.console_pane.text and screen.console_pane.text.endswith("\nb end")


async def test_failing_pasted_line_skips_the_rest() -> None:
    async with open_app(*sample("newton_sqrt.onnx")) as screen:
        await screen.press("colon")
        await paste(screen, "step\nset nothing = 3\nstep\n" + "echo x\n" * 20)
        await screen.press("enter")
        await screen.wait_until(lambda: "not run:" in screen.console_pane.text)
        await screen.wait_until_idle()
        assert (
            "not run:\n  step\n  echo x\n" in screen.console_pane.text and "… 13 more lines" in screen.console_pane.text
        )
        assert screen.session.frame.iteration == 1


async def test_pasted_lines_not_entered_are_reported_as_not_run() -> None:
    async with open_app(*sample("newton_sqrt.onnx")) as screen:
        await screen.press("colon")
        await paste(screen, "step\nstep")
        await screen.press("escape")
        assert screen.console_pane.text.endswith("not run:\n  step")
        await screen.press("colon")
        await screen.type("step")
        assert screen.session.frame.iteration == 1


@pytest.mark.parametrize("keys", [("slash",), ("J",), ("ctrl+p",), ("enter", "slash")])
async def test_non_command_prompt_gets_all_pasted_text(keys: tuple[str, ...]) -> None:
    async with open_app(*sample("newton_sqrt.onnx")) as screen:
        await screen.press("s", "2", "down", *keys)
        line = screen.app.screen.focused
        assert isinstance(line, LineInput)
        before = line.value
        await paste(screen, "1,\n  2,\x07\n")
        assert line.value == f"{before}1, 2,\\x07"


async def test_paste_without_an_input_field_is_reported() -> None:
    async with open_app(*sample("newton_sqrt.onnx")) as screen:
        await paste(screen, "step")
        assert "opens the console" in screen.message and screen.session.frame.iteration == 0
        # Typed ahead: the line is opened when the text arrives.
        screen.app.simulate_key("colon")
        await paste(screen, "step")
        assert screen.console_pane.input_line.value == "step"


@pytest.mark.parametrize("enter", ["enter", "ctrl+j"])
async def test_lines_sent_as_keys_stay_separate(enter: str) -> None:
    """Some terminals have no bracketed paste: letters must not overtake the keys between them."""
    async with open_app(*sample("newton_sqrt.onnx")) as screen:
        for key in ("colon", *"echo", "space", *"ax", "backspace", enter, *"help", "space", *"step", "left"):
            screen.app.post_message(events.Key(key, " " if key == "space" else None))
        line = screen.console_pane.input_line
        await screen.wait_until(lambda: line.value == "help step" and line.cursor_position == len("help ste"))
        await screen.wait_until_idle()
        assert screen.console_pane.text == "> echo a\na"
