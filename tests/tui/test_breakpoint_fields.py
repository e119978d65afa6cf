"""The form for a breakpoint's condition, ignore count and commands; a submitted field replaces the old value."""

from __future__ import annotations

import pytest
from textual.widgets import Input

from app_driver import AppDriver, open_app
from loopdbg.tui.screens.breakpoint_editor import BreakpointScreen
from text_models import sample

NEWTON = "newton_sqrt.onnx"


async def fields(screen: AppDriver, place: str) -> BreakpointScreen:
    """The form of a breakpoint that is set at a location."""
    await screen.press("B")
    await screen.type(f"break {place}")
    await screen.press("escape", "5", "end", "e")
    box = screen.app.screen
    assert isinstance(box, BreakpointScreen)
    return box


async def replace(screen: AppDriver, field: Input, text: str) -> None:
    field.focus()
    field.value = text
    await screen.press("enter")


@pytest.mark.parametrize(
    ("place", "was", "then"),
    [
        ("if err < 1e-3", "err < 1e-3", "if x > 1"),
        ("x_new", "", "x_new if x > 1"),
        ("x_new if err < 1", "err < 1", "x_new if x > 1"),
        ("iter 3", "", "iter 3 if x > 1"),
    ],
)
async def test_new_condition_replaces_the_old_one(place: str, was: str, then: str) -> None:
    async with open_app(*sample(NEWTON)) as screen:
        box = await fields(screen, place)
        assert box.condition.value == was and box.condition.has_focus
        await replace(screen, box.condition, "x > 1")
        assert screen.app.screen is not box
        assert screen.session.breakpoints[0].title == then
        assert then in screen.message and then in screen.lines("breakpoints")[0]


async def test_replaced_condition_decides_where_to_stop() -> None:
    async with open_app(*sample(NEWTON)) as screen:
        box = await fields(screen, "if err < 1e-9")
        await replace(screen, box.condition, "x < 1.45")
        await screen.press("c")
        assert "breakpoint 1 (if x < 1.45)" in screen.message and screen.session.frame.iteration == 2


async def test_empty_field_removes_the_condition() -> None:
    async with open_app(*sample(NEWTON)) as screen:
        box = await fields(screen, "x_new if err < 1e-9")
        await replace(screen, box.condition, "")
        assert screen.session.breakpoints[0].title == "x_new"
        await screen.press("c")
        assert screen.session.frame.iteration == 0


async def test_hits_are_ignored_and_commands_are_run() -> None:
    async with open_app(*sample(NEWTON)) as screen:
        box = await fields(screen, "x_new")
        await screen.press("tab")
        assert box.ignore.has_focus and box.ignore.value == "0"
        box.ignore.value = "2"
        await screen.press("tab", *"print x", "enter", *"echo here", "ctrl+s")
        first = screen.session.breakpoints[0]
        assert (first.ignore, first.commands) == (2, ["print x", "echo here"])
        await screen.press("c")
        assert screen.session.frame.iteration == 2
        assert [line for line in screen.console_pane.text.splitlines() if line == "here"]
        await screen.press("5", "home", "e")
        again = screen.app.screen
        assert isinstance(again, BreakpointScreen)
        assert again.commands.text == "print x\necho here" and again.ignore.value == "0"


@pytest.mark.parametrize(
    ("condition", "ignore", "message"),
    [
        ("nix > 1", "2", "'sqrt' has no value 'nix'"),
        ("x >", "2", "it ends where a value should come"),
        ("x > 1", "-1", "a whole number from 0 on, not '-1'"),
        ("x > 1", "many", "a whole number from 0 on, not 'many'"),
    ],
)
async def test_error_is_shown_in_box_and_changes_nothing(condition: str, ignore: str, message: str) -> None:
    async with open_app(*sample(NEWTON)) as screen:
        box = await fields(screen, "if err < 1e-3")
        box.ignore.value = ignore
        await replace(screen, box.condition, condition)
        assert screen.app.screen is box and message in box.error_text
        first = screen.session.breakpoints[0]
        assert (first.title, first.ignore) == ("if err < 1e-3", 0)
        await screen.press("escape")
        assert screen.app.screen is not box


async def test_part_of_a_condition_can_be_edited() -> None:
    async with open_app(*sample(NEWTON)) as screen:
        await fields(screen, "if err < 1e-3")
        await screen.press("backspace", "4", "enter")
        assert screen.session.breakpoints[0].title == "if err < 1e-4"


async def test_escape_changes_nothing() -> None:
    async with open_app(*sample(NEWTON)) as screen:
        box = await fields(screen, "iter 3")
        box.condition.value, box.ignore.value = "x > 1", "4"
        await screen.press("escape")
        first = screen.session.breakpoints[0]
        assert (first.title, first.ignore) == ("iter 3", 0)
