"""Rows that widgets cache, or redraw only between their borders, equal rows drawn from scratch."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from textual._styles_cache import StylesCache
from textual.strip import Strip

from app_driver import AppDriver, open_app, sample
from loopdbg.tui.widgets.row_cache import CachedStyles

#: Steps of all kinds, cursor moves, another pane, a single pane, another theme, typed text, the graph and its window.
KEYS = (*"snsn", "down", "left", "2", "down", "z", "s", "z", "t", "n", "colon", "escape", *"Gsn-", "right",
        "shift+down", "s", "escape", "s")  # fmt: skip


def rows(screen: AppDriver) -> list[Strip]:
    """The rows on the screen."""
    return screen.app.screen._compositor.render_strips()


def forget(screen: AppDriver) -> int:
    """Drop the caches of all widgets; returns how many of them had cached rows."""
    caches = [widget._styles_cache for widget in (screen.app.screen, *screen.app.screen.query("*"))]
    for cache in caches:
        cache.clear()
    return sum(isinstance(cache, CachedStyles) for cache in caches)


@pytest.mark.parametrize("colours", [True, False], ids=["in colours", "without"])
@pytest.mark.parametrize(
    ("name", "size"), [("lstm.xml", (120, 36)), ("newton_sqrt.onnx", (200, 60)), ("greedy_decoder.onnx", (80, 24))]
)
async def test_cached_rows_equal_freshly_drawn_rows(
    name: str, size: tuple[int, int], colours: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if colours:
        monkeypatch.delenv("NO_COLOR", raising=False)
    else:
        monkeypatch.setenv("NO_COLOR", "1")
    async with open_app(*sample(name), size=size) as screen:
        for key in KEYS:
            await screen.press(key)
            kept = rows(screen)
            assert forget(screen) > 2
            assert rows(screen) == kept, key


async def test_rows_between_borders_bypass_textual(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[int] = []
    render = StylesCache.render_line

    def noted(cache: StylesCache, styles: Any, y: int, *others: Any) -> Strip:
        drawn.append(y)
        return render(cache, styles, y, *others)

    async with open_app(*sample("lstm.xml")) as screen:
        await screen.press(*"snsn")
        body = screen.source_pane
        monkeypatch.setattr(body._styles_cache, "render_line", partial(noted, body._styles_cache))
        await screen.press(*"sn", "down")
        assert drawn and set(drawn) <= {0, body.outer_size.height - 1}
