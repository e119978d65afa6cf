"""Calls of the program's own Python functions in a key press, a stop of an editor, a run and a comparison: a measure of
their cost that does not depend on the machine. A generator counts once for each item.

``python benchmarks/count_calls.py [MODEL ...]``; ``python benchmarks/run.py --screen`` reports it as well.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import io
import os
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

SAMPLES = Path(__file__).resolve().parents[1] / "sample_models"
MODELS = ("newton_sqrt.onnx", "lstm.xml", "greedy_decoder.onnx", "mandelbrot.onnx")
TERMINAL_SIZE = (120, 40)
#: The folders of the program, and those that draw or format text for drawing.
COUNTED_PACKAGES = ("runtime", "debugger", "tui")
DRAWING_PATHS = ("tui/widgets/", "tui/render/", "debugger/describe/", "debugger/value_text.py", "runtime/text.py",
         "debugger/expression/tokens.py")  # fmt: skip


@contextmanager
def count_calls(calls: Counter[CodeType]) -> Iterator[None]:
    """Count the calls of Python functions in this thread."""

    def count_call(frame: FrameType, event: str, _: Any) -> None:
        # Bodies of modules and of classes run once, when they are imported.
        if event == "call" and frame.f_code.co_flags & inspect.CO_OPTIMIZED:
            calls[frame.f_code] += 1

    sys.setprofile(count_call)
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


async def calls_of_key_press(model: Path, key: str, before: int = 2) -> tuple[Counter[CodeType], Counter[CodeType]]:
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


def calls_of_editor_stop(model: Path) -> Counter[CodeType]:
    """Return the calls of the adapter for a step of an editor, from the request to the stack and the variables of all
    scopes, after an earlier one, which imports modules."""
    import numpy as np

    from loopdbg import Session, load
    from loopdbg.debugger.frontends.dap.adapter import DapAdapter
    from loopdbg.debugger.frontends.dap.messages import DapMessageStream

    class Messages(DapMessageStream):
        """Messages that are encoded, and kept as well."""

        def __init__(self) -> None:
            super().__init__(io.BytesIO(), io.BytesIO())
            self.sent: list[Any] = []
            self.stopped = threading.Event()

        def send(self, message: Any) -> None:
            super().send(message)
            self.sent.append(message)
            if message.get("event") == "stopped":
                self.stopped.set()

    session = Session(load(model), dict(np.load(model.with_suffix(".inputs.npz"))))
    messages, calls = Messages(), Counter[CodeType]()
    adapter = DapAdapter(messages, lambda _: session)

    def send_request(command: str, **arguments: Any) -> Any:
        adapter._handle_request({"seq": 0, "command": command, "arguments": arguments})
        return messages.sent[-1].get("body")

    def step() -> None:
        messages.stopped.clear()
        send_request("next", threadId=1)
        assert messages.stopped.wait(10.0)
        for frame in send_request("stackTrace", threadId=1)["stackFrames"][:1]:
            for scope in send_request("scopes", frameId=frame["id"])["scopes"]:
                send_request("variables", variablesReference=scope["variablesReference"])

    send_request("launch", program=str(model))
    step()
    with count_calls(calls):
        # The session moves in a thread of its own.
        threading.setprofile(sys.getprofile())
        step()
        threading.setprofile(None)
    return calls


_COUNT_RUN = """
import sys
sys.path.insert(0, sys.argv[1])
import count_calls
from collections import Counter
calls = Counter()
with count_calls.count_calls(calls):
    from loopdbg.tui.cli import main
    main(["run", sys.argv[2]])
print(count_calls.calls_by_file(calls).total(), len(count_calls.calls_by_file(calls)))
"""


def calls_of_run(model: Path) -> tuple[int, int]:
    """Return the calls and files of ``loopdbg run`` in a new process."""
    command = [sys.executable, "-c", _COUNT_RUN, str(Path(__file__).parent), str(model)]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    calls, files = output.split()[-2:]
    return int(calls), int(files)


def calls_of_diff(model: Path) -> Counter[CodeType]:
    """Return the calls of a comparison of a model and itself, both loaded before, until the first one runs."""
    import numpy as np

    from loopdbg import load
    from loopdbg.debugger.compare.running.boundary_merge import ComparisonOptions, compare_sides
    from loopdbg.debugger.compare.running.sides import ModelSide

    class RunStarts(Exception):
        """The comparison runs a model."""

    class Side(ModelSide):
        """A model that does not run."""

        def boundaries(self) -> Any:
            raise RunStarts

    inputs, calls = dict(np.load(model.with_suffix(".inputs.npz"))), Counter[CodeType]()
    for counted in (Counter[CodeType](), calls):  # the first comparison imports modules
        sides = [Side(load(model), inputs) for _ in range(2)]
        with contextlib.suppress(RunStarts), count_calls(counted):
            compare_sides(sides[0], sides[1], ComparisonOptions())
    return calls


def process_lines(names: Sequence[str] = MODELS) -> list[str]:
    """Return the calls and files of a stop of an editor, of a run in a new process, and of ``diff`` of a model and
    itself before the runs."""
    rows = ["", f"{'model':<24} {'editor stop':>12} {'files':>6} {'run':>7} {'files':>6} {'diff':>7}"]
    for name in names:
        stop = calls_by_file(calls_of_editor_stop(SAMPLES / name))
        calls, files = calls_of_run(SAMPLES / name)
        compared = calls_by_file(calls_of_diff(SAMPLES / name)).total()
        rows.append(f"{name:<24} {stop.total():>12} {len(stop):>6} {calls:>7} {files:>6} {compared:>7}")
    return rows


def lines(names: Sequence[str] = MODELS) -> list[str]:
    """Return the calls and files of a step of an iteration (s) and of a node (n), of a stop and of a run."""
    rows = [
        f"Python calls of a key, {TERMINAL_SIZE[0]}x{TERMINAL_SIZE[1]}",
        f"{'model':<24} {'key':>3} {'screen':>7} {'session':>8} {'files':>6} {'not drawing':>18} {'libraries too':>15}",
    ]
    for name in names:
        for key in "sn":
            screen_calls, session_calls = asyncio.run(calls_of_key_press(SAMPLES / name, key))
            screen, session = calls_by_file(screen_calls), calls_by_file(session_calls)
            files = {*screen, *session}
            others = [path for path in files if not path.startswith(DRAWING_PATHS)]
            other_calls = sum(screen[path] + session[path] for path in others)
            rows.append(
                f"{name:<24} {key:>3} {screen.total():>7} {session.total():>8} {len(files):>6} "
                f"{f'{len(others)} files, {other_calls}':>18} "
                f"{screen_calls.total() + session_calls.total():>15}"
            )
    return rows + process_lines(names)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.environ["LOOPDBG_CONFIG_DIR"] = folder
        print("\n".join(lines(sys.argv[1:] or MODELS)))
