"""Drives the Textual app in tests: open it, press keys, read the screen."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

import loopdbg
from loopdbg.debugger.describe.listing import VALUE_SEPARATOR
from loopdbg.debugger.session.session import Session
from loopdbg.debugger.trace.replay import Replay
from loopdbg.tui.actions import Action
from loopdbg.tui.app import LoopdbgApp
from loopdbg.tui.command_worker import CommandWorker
from loopdbg.tui.render.stop_view import ScreenState
from loopdbg.tui.render.target_base import Target
from loopdbg.tui.screens.debugger.lesson_panel import LessonPanel
from loopdbg.tui.screens.debugger.screen import DebuggerScreen
from recordings import record_run
from text_models import sample
from ui_idle import IDLE_TIMEOUT_SECONDS


async def wait_until(predicate: Callable[[], object]) -> None:
    """Wait until a condition is true."""
    async with asyncio.timeout(IDLE_TIMEOUT_SECONDS):
        while not predicate():
            await asyncio.sleep(0.01)


#: The prefix of a source line: the marks, its number, and the back-edge lanes in its indentation.
_LINE_PREFIX = re.compile(r"^(.?[●○ ]?(?: *\d+)?)([ ◂▸▲│├╰─]*)(?=\S)")


def strip_back_edge_lanes(text: str) -> str:
    """A source line without back-edge lanes and cursor highlights."""
    return _LINE_PREFIX.sub(lambda result: result[1] + " " * len(result[2]), text)


class AppDriver:
    """An open app. Key presses wait until the started commands have stopped and the screen is drawn."""

    def __init__(self, app: LoopdbgApp[int], pilot: Pilot[int]) -> None:
        self.app = app
        self.pilot = pilot
        assert isinstance(app.main_screen, DebuggerScreen)
        self.debugger = app.main_screen
        self.pane_control = self.debugger.pane_control
        self.run_control = self.debugger.run_control
        self.panes, self.pane_grid = self.pane_control.panes, self.pane_control.pane_grid
        self.source_pane, self.console_pane = self.pane_control.source_pane, self.debugger.console_pane
        self.value_pane, self.graph_overview = self.pane_control.value_pane, self.pane_control.graph_overview
        self.status_message, self.detail_line = self.debugger.status_message, self.debugger.detail_line
        self.session_worker = self.run_control.session_worker

    @property
    def screen_state(self) -> ScreenState | None:
        """The state shown."""
        return self.debugger.screen_state

    @property
    def target(self) -> Target | None:
        """The target of the cursor."""
        return self.pane_control.focused_pane.target

    @property
    def lesson(self) -> LessonPanel:
        """The open lesson."""
        assert self.debugger.lesson is not None
        return self.debugger.lesson

    @property
    def session(self) -> Session:
        assert not self.session_worker.busy, "the session runs"
        return self.session_worker.session

    async def press(self, *keys: str) -> None:
        for key in keys:
            await self.pilot.press(key)
            await self.wait_until_idle()

    async def press_and_wait(self, key: str, predicate: Callable[[], object]) -> None:
        """Press a key, and wait until its first effect is visible, not until its command has ended; the pilot's own
        presses wait for an idle processor."""
        self.app.simulate_key(key)
        await self.wait_until(predicate)

    async def wait_until(self, predicate: Callable[[], object]) -> None:
        """Wait until a condition is true, however long a busy machine takes."""
        await wait_until(predicate)

    async def type(self, line: str) -> str:
        """Type a line into the open console and wait for its command; returns the output."""
        self.console_pane.input_line.value = line
        await self.press("enter")
        return self.console_pane.text.rpartition(f"> {line}\n")[2]

    async def wait_until_idle(self) -> None:
        await asyncio.wait_for(self.run_control.wait_until_idle(), IDLE_TIMEOUT_SECONDS)
        await self.pilot.pause()

    @property
    def header(self) -> str:
        return self.debugger.header.text

    @property
    def keys(self) -> str:
        """The keys in the footer."""
        return self.debugger.key_bar.text

    @property
    def message(self) -> str:
        return self.debugger.status_message.text

    def text(self, pane: str) -> str:
        """A pane's title and lines; source lines are without back-edge lanes."""
        text = self.panes[pane].text
        return "\n".join(map(strip_back_edge_lanes, text.split("\n"))) if pane == "body" else text

    def lines(self, pane: str) -> list[str]:
        """A pane's lines without its title; source lines are without back-edge lanes."""
        lines = [line.text.rstrip() for line in self.panes[pane].lines]
        return [strip_back_edge_lanes(line) for line in lines] if pane == "body" else lines

    @property
    def marked_line(self) -> str:
        """The body line at the position marker, with the marker, without its number."""
        results = [line for line in self.lines("body") if line[:1] in ("▶", "✗")]
        assert len(results) <= 1, results
        return re.sub(r"^(.)([●○]?) +\d+ +", r"\1\2 ", results[0]) if results else ""

    def value_next_to(self, name: str) -> str:
        """The text next to the node that writes a value."""
        rows = (line for line in self.lines("body") if VALUE_SEPARATOR in line)
        line = next(line for line in rows if re.match(rf". *[●○]? +\d+ +{re.escape(name)} ", line))
        return line.rpartition(VALUE_SEPARATOR)[2]

    def visible_rows(self) -> list[str]:
        """The drawn rows: only the visible part of each pane's content."""
        return ["".join(segment.text for segment in strip) for strip in self.app.screen._compositor.render_strips()]


def stale_panes(screen: AppDriver) -> list[str]:
    """The visible panes whose lines do not match their present size and layout."""
    results = []
    for name, pane in screen.panes.items():
        if not pane.display or pane.screen_state is None:
            continue
        inner = pane._inner_size()
        wanted = (
            [pane._one_line_form(pane.screen_state, inner.width)]
            if pane.is_one_line
            else pane.build(pane.screen_state, *inner)
        )
        # Without cursor highlights.
        texts = [[re.sub("[◂▸]", " ", line.text) for line in lines] for lines in (pane.lines, wanted)]
        if texts[0] != texts[1]:
            results.append(name)
    return results


@asynccontextmanager
async def open_app(
    model: loopdbg.Model,
    inputs: Mapping[str, Any],
    size: tuple[int, int] = (120, 36),
    max_iterations: int | None = None,
    actions: Sequence[Action] | None = None,
) -> AsyncIterator[AppDriver]:
    """The app on a model, at its first stop."""
    async with _wait_for_first_stop(
        CommandWorker(model, inputs, max_iterations), "inputs.npz", size, actions
    ) as screen:
        yield screen


@asynccontextmanager
async def open_recording(path: Path, name: str, **options: Any) -> AsyncIterator[AppDriver]:
    """The app on a recording of a sample, made at ``path``, at its first boundary."""
    trace, _, _ = record_run(path, *sample(name), **options)
    with trace:
        replay = Replay(trace)
        async with _wait_for_first_stop(CommandWorker(replay.model, {}, None, replay), f"from {path.name}") as screen:
            yield screen


@asynccontextmanager
async def _wait_for_first_stop(
    driver: CommandWorker, note: str, size: tuple[int, int] = (120, 36), actions: Sequence[Action] | None = None
) -> AsyncIterator[AppDriver]:
    async with run_app(DebuggerScreen(driver, note, actions), size) as screen:
        yield screen


@asynccontextmanager
async def run_app(debugger: DebuggerScreen, size: tuple[int, int] = (120, 36)) -> AsyncIterator[AppDriver]:
    """The app on a debugger screen, at its first stop."""
    app = LoopdbgApp[int](debugger)
    try:
        async with app.run_test(size=size) as pilot:
            screen = AppDriver(app, pilot)
            await screen.wait_until_idle()
            yield screen
    finally:
        debugger.run_control.session_worker.close()
        if debugger.run_control.internal_error is not None:
            raise debugger.run_control.internal_error
