"""The display pane: expressions are added, changed and removed by keys, and their values are shown at every stop."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from app_driver import AppDriver, open_app, open_recording
from text_models import NESTED, model, sample

NEWTON = "newton_sqrt.onnx"


def shown(screen: AppDriver) -> list[str]:
    """The text of the pane without the padding between columns; empty if there is no pane."""
    pane = screen.panes["displays"]
    return [" ".join(line.split()) for line in screen.lines("displays")] if pane.display else []


async def typed(screen: AppDriver, *lines: str) -> None:
    await screen.press("colon")
    for line in lines:
        await screen.type(line)
    await screen.press("escape")


async def test_pane_is_absent_without_displays() -> None:
    async with open_app(*sample(NEWTON)) as screen:
        assert not screen.panes["displays"].display
        await screen.press("0")
        assert screen.message == "Displays: nothing to show here"


async def test_display_is_added_changed_and_removed_by_keys() -> None:
    async with open_app(*sample(NEWTON)) as screen:
        await screen.press("2", "home", "down", "D")
        assert screen.console_pane.input_line.value == "display x"
        await screen.press(*" * 2", "enter")
        assert shown(screen) == ["1 x * 2 4.0"] and not screen.console_pane.display
        await screen.press("0", "home", "e", *["backspace"], "3", "enter")
        assert shown(screen) == ["1 x * 3 6.0"] and screen.panes["displays"].has_focus
        await screen.press("enter")
        assert screen.console_pane.input_line.value == "display 1: x * 3"
        await screen.press("escape", "d")
        assert shown(screen) == [] and screen.session_worker.console.displays == {}


async def test_values_update_at_every_stop_and_changes_are_marked() -> None:
    async with open_app(*sample(NEWTON)) as screen:
        await typed(screen, "display x", "display a", "display x_new > 3")
        assert shown(screen)[:2] == ["1 x 2.0", "2 a 2.0"]
        assert shown(screen)[2].startswith("3 x_new > 3 'x_new' is not computed yet in it")
        await screen.press("s")
        assert shown(screen)[:2] == ["1 x ≠ 1.5", "2 a 2.0"] and shown(screen)[2].startswith("3 x_new > 3 false")
        # A command that does not move the session keeps the marks.
        await typed(screen, "print x")
        assert shown(screen)[0] == "1 x ≠ 1.5"
        await screen.press("n")
        assert shown(screen)[0] == "1 x 1.5"
        await screen.press("left", "left")
        assert shown(screen)[0] == "1 x ≠ 2.0"
        await typed(screen, "set x = 8")
        assert shown(screen)[0] == "1 x ≠ 8.0"


async def test_failing_display_shows_its_error_and_the_others_stay() -> None:
    async with open_app(*sample(NEWTON)) as screen:
        await typed(screen, "display nix + 1", "display x[3]", "display x")
        first, second, third = shown(screen)
        assert first.startswith("1 nix + 1 unknown name 'nix'")
        assert second.startswith("2 x[3] ") and "2.0" not in second
        assert third == "3 x 2.0"
        await typed(screen, "display 9: x")
        assert "there is no display 9; there are 1, 2, 3" in screen.console_pane.text
        assert screen.session_worker.console.next_display == 4


async def test_displays_are_evaluated_in_the_focused_frame() -> None:
    async with open_app(model(NESTED), {"M": np.array(3), "K": np.array(2)}) as screen:
        await typed(screen, "display iter")
        await screen.press("s", "n", "i")
        assert shown(screen)[0].endswith("0") and "Loop_1" in screen.text("displays")
        await screen.press("left_square_bracket")
        await screen.wait_until(lambda: shown(screen)[0].endswith("1"))
        await screen.press("right_square_bracket")
        await screen.wait_until(lambda: shown(screen)[0].endswith("0"))


async def test_displays_work_in_a_recording(tmp_path: Path) -> None:
    async with open_recording(tmp_path / "t.loopdb", NEWTON) as screen:
        await typed(screen, "display x")
        before = shown(screen)
        await screen.press("s")
        assert shown(screen) == ["1 x ≠ 1.5"] != before


async def test_small_screen_shows_displays_with_values() -> None:
    async with open_app(*sample(NEWTON), size=(80, 24)) as screen:
        await typed(screen, "display x")
        await screen.press("0")
        assert screen.pane_grid.tab == 1 and any("1 x" in " ".join(line.split()) for line in screen.visible_rows())
