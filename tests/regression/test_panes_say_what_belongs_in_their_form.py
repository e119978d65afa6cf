"""A pane that is a box shows its rows, one that is a line its summary, however quickly it was the one and the other."""

from __future__ import annotations

import pytest

from models import sample
from screens import Screen, opened, stale_panes


async def settled(screen: Screen) -> None:
    await screen.pilot.pause()
    await screen.settle()


@pytest.mark.parametrize("size", [(120, 36), (120, 30), (200, 60)])
async def test_after_the_console_was_open(size: tuple[int, int]) -> None:
    async with opened(*sample("newton_sqrt.onnx"), size=size) as screen:
        await screen.press("s", "s", "b")
        for _ in range(4):
            await screen.press("colon", *"help", "enter", "escape")
            await settled(screen)
            assert not stale_panes(screen)
            assert "line 11" in "\n".join(screen.visible())


async def test_a_line_for_a_moment() -> None:
    async with opened(*sample("newton_sqrt.onnx")) as screen:
        await screen.press("s", "b")
        pane = screen.app.panes["breakpoints"]
        assert not pane.is_line
        # Built as a line before the layout gave it another size, and a box again before the layout did.
        pane.in_a_line(True)
        pane.rebuild()
        pane.in_a_line(False)
        await settled(screen)
        assert not stale_panes(screen) and "● 1   line 11" in "\n".join(screen.visible())
