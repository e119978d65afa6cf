"""Thousands of random keys on all samples, including the palette, mixed with pastes, clicks and terminal resizes: the
screen survives and stays consistent."""

from __future__ import annotations

import asyncio
import itertools
import os
import random
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual import events
from textual.geometry import Size
from textual.pilot import OutOfBounds
from textual.widgets import Input

from app_driver import IDLE_TIMEOUT_SECONDS, AppDriver, open_app, open_recording, run_app
from lesson_driver import KEY_WORDING
from loopdbg.debugger.lessons.learner import Learner
from loopdbg.debugger.lessons.progress import LearnerProgress
from loopdbg.tui.actions import ACTIONS
from loopdbg.tui.app import LoopdbgApp
from loopdbg.tui.screens.debugger.dialogs import Dialogs
from loopdbg.tui.screens.debugger.screen import make_lesson_screen
from loopdbg.tui.worker_requests import SessionCommand
from text_models import SAMPLES, sample

FILES = [*SAMPLES.glob("*.onnx"), *SAMPLES.glob("*.xml"), *SAMPLES.glob("trt/*.py"), SAMPLES / "lessons/digits.onnxtxt"]
NAMES = [*sorted(path.relative_to(SAMPLES).as_posix() for path in FILES), "a lesson", "a recording"]
#: All keys of the table and of the modal screens, except those that suspend.
KEYS = sorted({key for action in ACTIONS if action.id != "suspend" for key in action.keys})
#: The keys that make up most sessions.
OFTEN = ("s", "n", "c", "left", "enter", "i", "f")
SIZES = ((80, 24), (120, 36), (70, 15), (200, 60), (20, 5), (1, 1))
#: Pasted lines: commands, expressions, and text that no key types.
PASTED = (
    "step", "next", "goto 2", "print 1 + 1", "set nothing = 3", "break iter 1", "info breakpoints", "echo a", "help",
    "list", "/find", "@7", "1e-3", "[1, 2]", "", " ", "\t", "\x1b[31mred\x1b[0m", "\x00\x07\x7f\x9b",
    "\x1b]0;title\x07", "\u202eabc", "e\u0301\u200d\ufeff", "漢字🙂", "\udc80", "[bold]markup[/bold]", "{x}", "`", "'",
    "\\", "%s%n", "9" * 400, "(" * 300, "-" * 300 + "1", "x" * 20_000, "\u2028", "print " + "a+" * 2000 + "a",
)  # fmt: skip
#: Separators between pasted lines.
ENDS = ("\n", "\n", "\r\n", "\r", "\v", "\x85", "\n\n\n")
#: The number of keys in all, and the number pressed before the first one is handled. A key costs 4 ms typed ahead and
#: 10 ms one by one, because then nearly each one is drawn: all 20 000 are run with LOOPDBG_ALL_KEYS.
TOTAL, AHEAD = (20_000, 1) if "LOOPDBG_ALL_KEYS" in os.environ else (4_000, 25)


@pytest.fixture(autouse=True)
def temporary_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some of the keys save files, and the palette has all actions, including those that quit or suspend."""
    monkeypatch.chdir(tmp_path)

    async def stay(target: object) -> None:
        pass

    monkeypatch.setattr(Dialogs, "action_quit", stay)
    monkeypatch.setattr(LoopdbgApp, "action_suspend_process", stay)


@asynccontextmanager
async def shown(name: str, folder: Path) -> AsyncIterator[AppDriver]:
    """A sample on the screen, a lesson, or a recording."""
    if name == "a recording":
        async with open_recording(folder / "t.loopdb", "newton_sqrt.onnx") as screen:
            yield screen
    elif name == "a lesson":
        learner = Learner(LearnerProgress(None), KEY_WORDING, number=6, random=random.Random(6))
        async with run_app(make_lesson_screen(learner)) as screen:
            yield screen
    else:
        async with open_app(*sample(name), max_iterations=300) as screen:
            yield screen


@pytest.mark.parametrize("name", NAMES)
async def test_random_keys_keep_the_screen_consistent(name: str, tmp_path: Path) -> None:
    hand = RandomKeyPresser(name)
    left = -(-TOTAL // len(NAMES))
    async with shown(name, tmp_path) as screen:
        for turn in itertools.count():
            if turn % 50 == 5:
                await resize(screen, hand.chosen.choice(SIZES))
                await click(screen, hand.chosen)
            # One by one now and then.
            count = min(left, hand.chosen.choice((1, hand.chosen.randint(1, AHEAD))))
            await hand.press(screen, count)
            left -= count
            if left <= 0:
                break
            if count > 1 or turn % 8 == 0:
                await wait_until_idle(screen)
        await assert_consistent(screen)
    # Not all keys were typed into input lines.
    assert hand.where["DebuggerScreen"] > hand.where.total() / 6, hand.where
    assert hand.pastes > 0


class RandomKeyPresser:
    """Presses random keys, the same ones in each run. Input lines and modal screens are left after some keys, so that
    more than letters are pressed."""

    def __init__(self, seed: str) -> None:
        self.chosen = random.Random(seed)
        self.pastes = 0
        #: How often a burst of keys began on each screen, or in an input line.
        self.where: Counter[str] = Counter()

    async def press(self, screen: AppDriver, count: int) -> None:
        """Press keys, the later ones before the first is handled; what they start may still be running on return."""
        app = screen.app
        typing = isinstance(app.focused, Input)
        # Even a short run includes one paste.
        if self.chosen.random() < (0.3 if typing else 0.1) or not self.pastes:
            app.post_message(events.Paste(self._text()))
            self.pastes += 1
        self.where["a line" if typing else type(app.screen).__name__] += 1
        for k in range(count):
            app.simulate_key(self._key(typing and k == 0, len(app.screen_stack) > 1 or k > 0))
        # Wait until the app has received them, which may be before they are drawn.
        taken = asyncio.Event()
        app.call_later(taken.set)
        await asyncio.wait_for(taken.wait(), IDLE_TIMEOUT_SECONDS)

    def _text(self) -> str:
        """The text to paste: one line, or several."""
        count = self.chosen.choice((1, 1, 2, 3, self.chosen.randint(4, 40)))
        lines = [self.chosen.choice(PASTED) for _ in range(count)]
        last = self.chosen.choice(("", "\n"))
        return "".join(f"{line}{self.chosen.choice(ENDS)}" for line in lines[:-1]) + lines[-1] + last

    def _key(self, typing: bool, above: bool) -> str:
        """A random key; ``typing``: into an input line; ``above``: a modal screen may cover the panes."""
        draw = self.chosen.random()
        if typing and draw < 0.35:
            return self.chosen.choice(("escape", "escape", "enter"))
        if above and draw < 0.25:
            return "escape"
        return self.chosen.choice(OFTEN if draw > 0.7 else KEYS)


async def resize(screen: AppDriver, size: tuple[int, int]) -> None:
    """Resize the terminal, whatever is running."""
    await screen.pilot.resize_terminal(*Size(*size))


async def click(screen: AppDriver, chosen: random.Random) -> None:
    """Click anywhere, once or twice."""
    width, height = screen.app.size
    index = chosen.randrange(width), chosen.randrange(height)
    try:
        await screen.pilot.click(offset=index, times=chosen.choice((1, 2)))
    except OutOfBounds:
        assert not Size(*screen.app.screen.size).contains(*index)


async def wait_until_idle(screen: AppDriver) -> None:
    """Wait until the pressed keys are handled; interrupts what keeps running."""
    screen.session_worker.interrupt()
    try:
        await asyncio.wait_for(screen.run_control.wait_until_idle(), IDLE_TIMEOUT_SECONDS)
    except TimeoutError:
        driver = screen.session_worker
        raise AssertionError(f"{driver._current!r} does not end; waiting: {driver._queue!r}") from None
    assert screen.app.is_running and screen.run_control.internal_error is None


async def assert_consistent(screen: AppDriver) -> None:
    """Every modal screen can be left, and the panes agree with the session."""
    await resize(screen, SIZES[1])
    await wait_until_idle(screen)
    await screen.wait_until_idle()
    for _ in range(12):
        if len(screen.app.screen_stack) > 1 or isinstance(screen.app.focused, Input):
            await screen.press("escape")
    assert len(screen.app.screen_stack) == 1
    # A selected outer frame is shown until the next stop.
    screen.run_control.submit(SessionCommand.RESTART)
    await screen.wait_until_idle()
    frame = screen.session.frame
    assert f"iteration {frame.iteration} / " in screen.header or f"ended after {frame.iteration} / " in screen.header
    assert screen.screen_state is not None and screen.screen_state.frame.path == frame.path
