"""A recording on the screen: its console, its keys, and what it refuses."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from loopdbg.debugger.recording.replay import Replay
from loopdbg.tui.app import LoopdbgApp
from loopdbg.tui.driver import Driver
from models import sample
from recordings import record
from screens import Screen


@asynccontextmanager
async def opened(path: Path, name: str, **options: Any) -> AsyncIterator[Screen]:
    """The app on a recording of a sample, at its first boundary."""
    trace, _, _ = record(path / "t.loopdb", *sample(name), **options)
    replay = Replay(trace)
    app = LoopdbgApp(Driver(replay.model, {}, None, replay), "from t.loopdb")
    try:
        async with app.run_test(size=(120, 36)) as pilot:
            screen = Screen(app, pilot)
            await screen.settle()
            yield screen
    finally:
        app.driver.close()
        trace.close()


async def typed(screen: Screen, line: str) -> str:
    """Type a line into the open console; returns what it says to that."""
    screen.app.prompt.line.value = line
    await screen.press("enter")
    return screen.app.prompt.text.rpartition(f"> {line}\n")[2]


async def test_breakpoints_and_expressions_in_the_console(tmp_path: Path) -> None:
    async with opened(tmp_path, "newton_sqrt.onnx") as screen:
        await screen.press("b")
        assert screen.app.prompt.line.value == "break "
        assert await typed(screen, "break if err < 1e-2") == "breakpoint 1: if err < 1e-2"
        await typed(screen, "continue")
        assert "breakpoint 1" in screen.message and "iteration 3 / no limit" in screen.header
        assert await typed(screen, "print x - prev(x)") == "-0.0024510622"
        assert "goes on" in await typed(screen, "why")
        await screen.press("escape", "c", "c", "c")
        assert "ended" in screen.header
        await screen.press("C")
        assert "breakpoint 1" in screen.message and "ended after 5" in screen.header


async def test_keys_that_open_the_console(tmp_path: Path) -> None:
    async with opened(tmp_path, "newton_sqrt.onnx") as screen:
        await screen.press("s", "W")
        assert "err_new > tol" in screen.app.prompt.text
        await screen.press("l")
        assert "x_new = half + half_q" in screen.app.prompt.text
        await screen.press("escape", "g")
        await typed(screen, "goto 4")
        assert "iteration 4 / no limit" in screen.header
        await screen.press("escape", "left")
        assert "iteration 3 / no limit" in screen.header


async def test_what_would_have_to_run_is_said_where_it_was_typed(tmp_path: Path) -> None:
    async with opened(tmp_path, "newton_sqrt.onnx") as screen:
        await screen.press("e")
        said = await typed(screen, "set x = 3")
        assert said.startswith("error: changing a value is not possible: this is a recording")
        assert "boundaries only" in await typed(screen, "break x_new")
        assert "iteration 0 / no limit" in screen.header
        await screen.press("escape", "N")
        assert "stepping by nodes is not possible" in screen.message


async def test_going_back_to_where_a_nan_came_from(tmp_path: Path) -> None:
    async with opened(tmp_path, "vanishing_scale.onnx", nodes=True) as screen:
        await screen.press("colon")
        await typed(screen, "break nan")
        await typed(screen, "continue")
        assert "Div 'Div_1' gave NaN or Inf in iteration 137" in screen.message
        await typed(screen, "delete")
        await typed(screen, "continue")
        await typed(screen, "break nan")
        await typed(screen, "reverse-continue")
        assert "Div 'Div_1' gave NaN or Inf in iteration 137" in screen.message
