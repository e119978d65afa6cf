"""Twenty thousand keys on all samples, the palette included: whatever is pressed, the screen stays, and stays right."""

from __future__ import annotations

import asyncio
import os
import random
from pathlib import Path

import pytest

from loopdbg.tui.requests import Command
from models import SAMPLES, sample
from screens import Screen, opened

NAMES = sorted(path.name for path in SAMPLES.iterdir() if path.suffix in (".onnx", ".xml"))
#: All but those that leave or suspend.
KEYS = (
    *"sniofcrSCNgbBwepyWlzmt123456789jkdhx",
    *("left", "right", "up", "down", "pageup", "pagedown", "home", "end", "tab", "shift+tab", "enter", "escape"),
    *("ctrl+p", "f1", "question_mark", "slash", "colon", "left_square_bracket", "right_square_bracket", "space"),
    *("less_than_sign", "greater_than_sign", "minus", "plus", "backspace", "delete", "ctrl+c", "shift+left"),
)
#: What brings one back from where most keys do nothing.
OFTEN = ("s", "n", "c", "left", "escape", "enter", "ctrl+p")
SIZES = ((80, 24), (120, 36), (200, 60), (70, 15))
#: Of these the first run always, each sample in one size, the others where LOOPDBG_ALL_KEYS asks for them.
TOTAL, ALWAYS = 20_000, 4_000


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some of the keys save files."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", NAMES)
async def test_any_keys(name: str) -> None:
    await press(name, SIZES[NAMES.index(name) % len(SIZES)], ALWAYS // len(NAMES), name)


@pytest.mark.slow
@pytest.mark.skipif("LOOPDBG_ALL_KEYS" not in os.environ, reason="takes ten minutes: LOOPDBG_ALL_KEYS=1 asks for it")
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", NAMES)
async def test_any_more_keys(name: str, size: tuple[int, int]) -> None:
    await press(name, size, -(-(TOTAL - ALWAYS) // (len(NAMES) * len(SIZES))), f"{name} {size}")


async def press(name: str, size: tuple[int, int], left: int, seed: str) -> None:
    """Press random keys on a sample."""
    chosen = random.Random(seed)
    async with opened(*sample(name), size=size, max_iterations=300) as screen:
        while left > 0:
            for _ in range(min(left, 25)):
                screen.app.simulate_key(chosen.choice(OFTEN if chosen.random() < 0.3 else KEYS))
            left -= 25
            await calm(screen)
        await as_left(screen)


async def calm(screen: Screen) -> None:
    """Wait until what was pressed is done; what runs on is interrupted."""
    screen.app.driver.interrupt()
    try:
        await asyncio.wait_for(screen.app.idle(), 30)
    except TimeoutError:
        driver = screen.app.driver
        raise AssertionError(f"{driver._running!r} does not end; waiting: {driver._waiting!r}") from None
    await asyncio.sleep(0)
    assert screen.app.is_running and screen.app.fault is None


async def as_left(screen: Screen) -> None:
    """Every screen above can be left, and the panes say what the session says."""
    await screen.settle()
    for _ in range(12):
        await screen.press("escape")
    assert len(screen.app.screen_stack) == 1
    # A selected frame around is shown until the next stop.
    screen.app.ask(Command.RESTART)
    await screen.settle()
    frame = screen.session.frame
    assert f"iteration {frame.iteration} / " in screen.header or f"ended after {frame.iteration} / " in screen.header
    assert screen.app.shown is not None and screen.app.shown.frame.frame.path == frame.path
