"""The Textual app for tests: open it, press keys, read what the screen says."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

import loopdbg
from loopdbg.debugger.recording.replay import Replay
from loopdbg.debugger.session.session import Session
from loopdbg.debugger.words.listing import BESIDE
from loopdbg.tui.actions import Action
from loopdbg.tui.app import LoopdbgApp
from loopdbg.tui.driver import Driver
from models import sample
from recordings import record
from resting import NEVER


async def until(there: Callable[[], object]) -> None:
    """Wait until something is so."""
    async with asyncio.timeout(NEVER):
        while not there():
            await asyncio.sleep(0.01)


#: What stands before the code of a line: the signs, its number, and in its indentation the ways of back edges.
_BEFORE = re.compile(r"^(.?[●○ ]?(?: *\d+)?)([ ◂▸▲│├╰─]*)(?=\S)")


def without_ways(text: str) -> str:
    """A line of the source as it is without the ways of back edges, and without what the cursor lights up."""
    return _BEFORE.sub(lambda found: found[1] + " " * len(found[2]), text)


class Screen:
    """An open app. Keys wait until what they started has stopped and is on the screen."""

    def __init__(self, app: LoopdbgApp, pilot: Pilot[int]) -> None:
        self.app = app
        self.pilot = pilot

    @property
    def session(self) -> Session:
        assert not self.app.driver.busy, "the session runs"
        return self.app.driver.session

    async def press(self, *keys: str) -> None:
        for key in keys:
            await self.pilot.press(key)
            await self.settle()

    async def tap(self, key: str, there: Callable[[], object]) -> None:
        """Press a key, and wait until what it leads to is there, not until what it starts has stopped; the pilot's own
        presses wait for an idle processor."""
        self.app.simulate_key(key)
        await self.until(there)

    async def until(self, there: Callable[[], object]) -> None:
        """Wait until something is so, however long a busy machine takes for it."""
        await until(there)

    async def type(self, line: str) -> str:
        """Type a line into the open console and wait for what it does; returns what it says to that."""
        self.app.prompt.line.value = line
        await self.press("enter")
        return self.app.prompt.text.rpartition(f"> {line}\n")[2]

    async def settle(self) -> None:
        await asyncio.wait_for(self.app.idle(), NEVER)
        await self.pilot.pause()

    @property
    def header(self) -> str:
        return self.app.header.text

    @property
    def keys(self) -> str:
        """The keys at the foot."""
        return self.app.keys.text

    @property
    def message(self) -> str:
        return self.app.message.text

    def text(self, pane: str) -> str:
        """A pane's title and lines; those of the source without the ways of back edges."""
        text = self.app.panes[pane].text
        return "\n".join(map(without_ways, text.split("\n"))) if pane == "body" else text

    def lines(self, pane: str) -> list[str]:
        """A pane's lines, without its title; those of the source without the ways of back edges."""
        lines = [line.text.rstrip() for line in self.app.panes[pane].lines]
        return [without_ways(line) for line in lines] if pane == "body" else lines

    @property
    def marked(self) -> str:
        """The line of the body that the marker stands on, with the marker, without its number."""
        found = [line for line in self.lines("body") if line[:1] in ("▶", "✗")]
        assert len(found) <= 1, found
        return re.sub(r"^(.)([●○]?) +\d+ +", r"\1\2 ", found[0]) if found else ""

    def value_beside(self, name: str) -> str:
        """What stands beside the node that writes a value."""
        rows = (line for line in self.lines("body") if BESIDE in line)
        line = next(line for line in rows if re.match(rf". *[●○]? +\d+ +{re.escape(name)} ", line))
        return line.rpartition(BESIDE)[2]

    def visible(self) -> list[str]:
        """What is drawn, row by row: not what a pane would say, but what of it is in sight."""
        return ["".join(segment.text for segment in strip) for strip in self.app.screen._compositor.render_strips()]


def stale_panes(screen: Screen) -> list[str]:
    """The visible panes whose lines are not those of their present size and form."""
    found = []
    for name, pane in screen.app.panes.items():
        if not pane.display or pane.shown is None:
            continue
        inner = pane._inner()
        wanted = [pane._line(pane.shown, inner.width)] if pane.is_line else pane.build(pane.shown, *inner)
        # Without what the cursor lights up.
        texts = [[re.sub("[◂▸]", " ", line.text) for line in lines] for lines in (pane.lines, wanted)]
        if texts[0] != texts[1]:
            found.append(name)
    return found


@asynccontextmanager
async def opened(
    model: loopdbg.Model,
    inputs: Mapping[str, Any],
    size: tuple[int, int] = (120, 36),
    max_iterations: int | None = None,
    actions: Sequence[Action] | None = None,
) -> AsyncIterator[Screen]:
    """The app on a model, at its first stop."""
    async with _shown(Driver(model, inputs, max_iterations), "inputs.npz", size, actions) as screen:
        yield screen


@asynccontextmanager
async def opened_recording(path: Path, name: str, **options: Any) -> AsyncIterator[Screen]:
    """The app on a recording of a sample, made at ``path``, at its first boundary."""
    trace, _, _ = record(path, *sample(name), **options)
    with trace:
        replay = Replay(trace)
        async with _shown(Driver(replay.model, {}, None, replay), f"from {path.name}") as screen:
            yield screen


@asynccontextmanager
async def _shown(
    driver: Driver, note: str, size: tuple[int, int] = (120, 36), actions: Sequence[Action] | None = None
) -> AsyncIterator[Screen]:
    async with running(LoopdbgApp(driver, note, actions), size) as screen:
        yield screen


@asynccontextmanager
async def running(app: LoopdbgApp, size: tuple[int, int] = (120, 36)) -> AsyncIterator[Screen]:
    """An app at its first stop."""
    try:
        async with app.run_test(size=size) as pilot:
            screen = Screen(app, pilot)
            await screen.settle()
            yield screen
    finally:
        app.driver.close()
        if app.fault is not None:
            raise app.fault
