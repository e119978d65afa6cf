"""In both themes every word has a contrast of at least 4.5 to 1, and no information is conveyed by colour alone."""

from __future__ import annotations

import pytest
from rich.color import Color
from textual.color import Color as Tone

from app_driver import AppDriver, open_app
from loopdbg.tui.themes import DARK, LIGHT
from text_models import sample

LEAST = 4.5


def words(screen: AppDriver) -> list[tuple[str, Tone, Tone]]:
    """The drawn words with their foreground and background colours; for a modal screen only its own, because the screen
    below is dimmed on purpose."""
    results = []
    region = screen.app.screen.region
    if len(screen.app.screen_stack) > 1:
        region = screen.app.screen.children[-1].region
    for y, strip in enumerate(screen.app.screen._compositor.render_strips()):
        x = 0
        for segment in strip:
            style, begin = segment.style, x
            x += segment.cell_length
            if not (region.y <= y < region.bottom and region.x <= begin < region.right):
                continue
            if any(sign.isalnum() for sign in segment.text) and style is not None:
                assert style.color is not None and style.bgcolor is not None, segment
                fore, back = _tone(style.color), _tone(style.bgcolor)
                results.append((segment.text, back, fore) if style.reverse else (segment.text, fore, back))
    return results


def _tone(color: Color) -> Tone:
    return Tone(*color.get_truecolor())


def weak(screen: AppDriver) -> list[tuple[str, float]]:
    """The words with too little contrast."""
    messages = [(text, round(_ratio(fore, back), 2)) for text, fore, back in words(screen)]
    return [(text, ratio) for text, ratio in messages if ratio < LEAST]


def _ratio(a: Tone, b: Tone) -> float:
    light, dark = sorted((_luminance(a), _luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(tone: Tone) -> float:
    red, green, blue = (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in tone.normalized)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("theme", [DARK.name, LIGHT.name])
@pytest.mark.parametrize("size", [(120, 36), (80, 24)])
async def test_every_word_has_enough_contrast(theme: str, size: tuple[int, int]) -> None:
    async with open_app(*sample("newton_sqrt.onnx"), size=size) as screen:
        screen.app.theme = theme
        await screen.press("s", "s", "n", "n")
        assert len(words(screen)) > 40 and weak(screen) == []
        for keys in (("b",), ("c",), ("ctrl+p",), ("escape", "question_mark"), ("escape", "W"), ("escape", "colon")):
            await screen.press(*keys)
            assert weak(screen) == [], keys
        await screen.press(*"print er", "tab")
        assert weak(screen) == []
        await screen.type("nonsense")
        await screen.press("escape", "2", "enter")
        assert weak(screen) == []


async def test_t_switches_the_theme_persistently() -> None:
    async with open_app(*sample("newton_sqrt.onnx")) as screen:
        assert screen.app.theme == DARK.name
        await screen.press("t")
        assert screen.app.theme == LIGHT.name
    async with open_app(*sample("newton_sqrt.onnx")) as screen:
        assert screen.app.theme == LIGHT.name
        await screen.press("t")
        assert screen.app.theme == DARK.name


async def test_without_color_no_information_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with open_app(*sample("newton_sqrt.onnx")) as screen:
        await screen.press("s", "n", "b")
        message = "\n".join(screen.visible_rows())
        assert "▶" in message and "●" in message and "▌" in message and "▼" in message
        assert all(fore.rgb[0] == fore.rgb[1] == fore.rgb[2] for _, fore, _ in words(screen))
