"""Python calls per key press in the TUI: a measure of the cost of a step that does not depend on the machine.

``python benchmarks/count_calls.py [MODEL ...]``; ``python benchmarks/run.py --screen`` reports it as well.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

SAMPLES = Path(__file__).resolve().parents[1] / "sample_models"
MODELS = ("newton_sqrt.onnx", "lstm.xml", "greedy_decoder.onnx", "mandelbrot.onnx")
TERMINAL_SIZE = (120, 36)
#: The folders of the program, and those that draw or format text for drawing.
COUNTED_PACKAGES = ("runtime", "debugger", "tui")
DRAWING_PATHS = ("tui/widgets/", "tui/render/", "debugger/describe/", "debugger/value_text.py", "runtime/text.py",
         "debugger/expression/tokens.py")  # fmt: skip


@contextmanager
def count_calls(calls: Counter[CodeType]) -> Iterator[None]:
    """Count the calls of Python functions in this thread."""

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            calls[frame.f_code] += 1

    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(None)


def calls_by_file(calls: Counter[CodeType]) -> Counter[str]:
    """Return the calls of this program's functions, by file."""
    import loopdbg

    root = Path(loopdbg.__file__).resolve().parents[2]
    counts: Counter[str] = Counter()
    for code, count in calls.items():
        path = Path(code.co_filename).resolve()
        if path.is_relative_to(root) and path.relative_to(root).parts[0] in COUNTED_PACKAGES:
            counts[path.relative_to(root).as_posix()] += count
    return counts


async def calls_of(model: Path, key: str, before: int = 2) -> tuple[Counter[CodeType], Counter[CodeType]]:
    """Return the calls of a key press in the threads of the screen and of the session, after ``before`` earlier
    presses, which import modules."""
    import numpy as np

    from loopdbg import load
    from loopdbg.tui.app import LoopdbgApp
    from loopdbg.tui.command_worker import CommandWorker
    from loopdbg.tui.screens.debugger.screen import DebuggerScreen

    driver = CommandWorker(load(model), dict(np.load(model.with_suffix(".inputs.npz"))), None)
    debugger, run_command = DebuggerScreen(driver, "inputs.npz"), driver._run_command
    app = LoopdbgApp[int](debugger)
    screen_calls, session_calls = Counter[CodeType](), Counter[CodeType]()

    def counted(command: Any) -> Any:
        with count_calls(session_calls):
            return run_command(command)

    try:
        async with app.run_test(size=TERMINAL_SIZE) as pilot:

            async def press() -> None:
                await pilot.press(key)
                await debugger.run_control.wait_until_idle()
                await pilot.pause()

            await debugger.run_control.wait_until_idle()
            for _ in range(before):
                await press()
            driver._run_command = counted  # type: ignore[method-assign]
            with count_calls(screen_calls):
                await press()
    finally:
        driver.close()
    return screen_calls, session_calls


def lines(names: Sequence[str] = MODELS) -> list[str]:
    """Return the calls and files of a step of an iteration (s) and of a node (n)."""
    rows = [
        f"Python calls of a key, {TERMINAL_SIZE[0]}x{TERMINAL_SIZE[1]}",
        f"{'model':<24} {'key':>3} {'screen':>7} {'session':>8} {'files':>6} {'not drawing':>12} {'libraries too':>15}",
    ]
    for name in names:
        for key in "sn":
            screen_calls, session_calls = asyncio.run(calls_of(SAMPLES / name, key))
            screen, session = calls_by_file(screen_calls), calls_by_file(session_calls)
            files = {*screen, *session}
            others = [path for path in files if not path.startswith(DRAWING_PATHS)]
            rows.append(
                f"{name:<24} {key:>3} {screen.total():>7} {session.total():>8} {len(files):>6} {len(others):>12} "
                f"{screen_calls.total() + session_calls.total():>15}"
            )
    return rows


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.environ["LOOPDBG_CONFIG_DIR"] = folder
        print("\n".join(lines(sys.argv[1:] or MODELS)))
