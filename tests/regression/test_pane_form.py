"""A pane that is a box shows its rows, one that is a line its summary, however quickly it was the one and the other."""

from __future__ import annotations

import pytest

from app_driver import AppDriver, open_app, stale_panes
from text_models import sample


async def settled(screen: AppDriver) -> None:
    await screen.pilot.pause()
    await screen.wait_until_idle()


@pytest.mark.parametrize("size", [(120, 36), (120, 30), (200, 60)])
async def test_after_the_console_was_open(size: tuple[int, int]) -> None:
    async with open_app(*sample("newton_sqrt.onnx"), size=size) as screen:
        await screen.press("s", "s", "b")
        for _ in range(4):
            await screen.press("colon", *"help", "enter", "escape")
            await settled(screen)
            assert not stale_panes(screen)
            assert "line 11" in "\n".join(screen.visible_rows())


async def test_a_line_for_a_moment() -> None:
    async with open_app(*sample("newton_sqrt.onnx")) as screen:
        await screen.press("s", "b")
        pane = screen.panes["breakpoints"]
        assert not pane.is_one_line
        # Built as a line before the layout gave it another size, and a box again before the layout did.
        pane.set_one_line(True)
        pane.rebuild()
        pane.set_one_line(False)
        await settled(screen)
        assert not stale_panes(screen) and "● 1   line 11" in "\n".join(screen.visible_rows())
