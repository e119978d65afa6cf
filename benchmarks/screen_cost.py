"""Cost of the TUI: time, bytes and Python calls per key, graphs, stop latency, live updates, a very large tensor.

Keys are sent to the command in a pseudo-terminal. For the rest the app runs normally in this process, with a terminal
that only counts its output.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import statistics
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

import count_calls
from decoder_model import INPUTS, decoder
from timed_terminal import TimedTerminal, save_model

SAMPLES = Path(__file__).resolve().parents[1] / "sample_models"
MODELS = ("newton_sqrt.onnx", "lstm.xml", "greedy_decoder.onnx", "collatz.onnx", "mandelbrot.onnx")
#: The sizes of terminals.
TERMINAL_SIZES = ((80, 24), (120, 36), (200, 60))

#: Seconds to run a measured loop.
_RUN_SECONDS = 1.0


def halving_loop(elements: int, nodes: int = 1) -> onnx.ModelProto:
    """Return a loop that halves a tensor in each iteration, with ``nodes`` nodes."""
    names = ["x", *(f"y{k}" for k in range(nodes))]
    body = helper.make_graph(
        [
            *(helper.make_node("Mul", [a, "half"], [b]) for a, b in itertools.pairwise(names)),
            helper.make_node("Identity", ["c"], ["go"]),
        ],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("c", TensorProto.BOOL, []),
            helper.make_tensor_value_info("x", TensorProto.FLOAT, [elements]),
        ],
        [
            helper.make_tensor_value_info("go", TensorProto.BOOL, []),
            helper.make_tensor_value_info(names[-1], TensorProto.FLOAT, [elements]),
        ],
        [helper.make_tensor("half", TensorProto.FLOAT, [], [0.5])],
    )
    graph = helper.make_graph(
        [helper.make_node("Loop", ["m", "", "x0"], ["x_last"], body=body, name="halving")],
        "main",
        [
            helper.make_tensor_value_info("m", TensorProto.INT64, []),
            helper.make_tensor_value_info("x0", TensorProto.FLOAT, [elements]),
        ],
        [helper.make_tensor_value_info("x_last", TensorProto.FLOAT, [elements])],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


class OutputCounter:
    """Counts the output of the app, and records when it last wrote."""

    def __init__(self, app: Any) -> None:
        self.bytes = 0
        self.last_write = 0.0
        driver = app._driver
        write = driver.write

        def counted(data: str) -> None:
            self.bytes += len(data.encode())
            self.last_write = time.perf_counter()
            write(data)

        driver.write = counted
        # A test's driver is headless and renders nothing; this one has to render.
        type(driver).is_headless = property(lambda _: False)


def _load_model(proto: onnx.ModelProto) -> Any:
    from loopdbg import load

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "halving.onnx"
        path.write_bytes(proto.SerializeToString())
        model = load(path)
        _ = model.plan
        return model


def key_lines(quick: bool) -> list[str]:
    """Milliseconds and bytes of steps in a terminal: on the samples and on a body of 1 000 nodes."""
    lines = [f"{'key to last byte':<24} {'size':>8} {'ms, median':>11} {'worst':>7} {'bytes, median':>14} {'worst':>7}"]
    with tempfile.TemporaryDirectory() as folder:
        large_path = save_model(
            Path(folder), "many", halving_loop(4, 1000).SerializeToString(), m=1000, x0=np.ones(4, np.float32)
        )
        decoder_path = save_model(Path(folder), "decoder", decoder().SerializeToString(), **INPUTS)
        steps = ("s", "n", "s", "left")
        cases = [(name, SAMPLES / name, (), steps) for name in (MODELS[:2] if quick else MODELS)]
        cases += [("body of 1 000 nodes", large_path, (), steps), ("decoder of 300 nodes", decoder_path, (), steps)]
        cases += [("  its graph", decoder_path, ("G",), ("s", "n", "n", "S"))]
        for name, path, setup_keys, keys in cases:
            for size in TERMINAL_SIZES[1:2] if quick else TERMINAL_SIZES:
                with TimedTerminal([str(path)], size) as terminal:
                    for key in setup_keys:
                        terminal.press(key)
                    # The first key of a process imports modules.
                    measurements = [terminal.press(key) for key in keys * 3][1:]
                times, counts = [time_ for time_, _ in measurements], [count for _, count in measurements]
                lines.append(
                    f"{name:<24} {size[0]:>4}x{size[1]:<3} {statistics.median(times):>11.0f} {max(times):>7.0f} "
                    f"{statistics.median(counts):>14.0f} {max(counts):>7}"
                )
    return lines


def graph_lines() -> list[str]:
    """CPU milliseconds of graphs: the layout of all boxes, and a step near the cursor."""
    lines = [f"{'graph':<24} {'boxes':>6} {'layout, ms':>11} {'opened':>7} {'step, median':>13} {'worst':>6}"]
    models = {
        "decoder of 300 nodes": (decoder(), INPUTS),
        "decoder of 1 000 nodes": (decoder(38), INPUTS),
        "chain of 1 000 nodes": (halving_loop(4, 1000), {"m": 1000, "x0": np.ones(4, np.float32)}),
    }
    for name, (proto, inputs) in models.items():
        boxes, layout, opened, steps = _measure_graph(_load_model(proto), inputs)
        lines.append(
            f"{name:<24} {boxes:>6} {layout:>11.0f} {opened:>7.0f} {statistics.median(steps):>13.1f} {max(steps):>6.0f}"
        )
    return lines


def _measure_graph(model: Any, inputs: dict[str, Any]) -> tuple[int, float, float, list[float]]:
    """Boxes of a loop; milliseconds of its layout, of opening its graph, and of each of some steps."""
    from loopdbg.debugger.session.session import Session
    from loopdbg.tui.render.graphview.layout import DetailLevel, layout_graph
    from loopdbg.tui.render.graphview.state import GraphState
    from loopdbg.tui.render.stop_view import ScreenState, build_stop_view
    from loopdbg.tui.render.timeline_rows import BranchHistory

    session, history = Session(model, inputs), BranchHistory()

    def shown() -> ScreenState:
        view = build_stop_view(session, history)
        return ScreenState(view, view.selected, model.graph)

    def timed(action: Any) -> float:
        start = time.process_time()
        action()
        return (time.process_time() - start) * 1e3

    session.step()
    first = shown()
    state = GraphState(first)
    layout = statistics.median(timed(lambda: layout_graph(state.full_picture, DetailLevel.VALUES)) for _ in range(5))
    open_time = statistics.median(timed(lambda: GraphState(first).render()) for _ in range(5))
    steps = []
    for _ in range(60):
        session.next_node()
        steps.append(timed(lambda: (state.show_state(shown()), state.render())))
    return len(state.full_picture.boxes), layout, open_time, steps


def stop_latency_lines() -> list[str]:
    """Latency of stopping a loop, and the overhead of its live display: alternately with and without a screen, in
    wall-clock and CPU time; other processes do not affect the latter."""
    from loopdbg.debugger.session.session import Session
    from loopdbg.tui.app import LoopdbgApp
    from loopdbg.tui.command_worker import CommandWorker, SessionCommand
    from loopdbg.tui.screens.debugger.screen import DebuggerScreen

    model = _load_model(halving_loop(4))
    inputs = {"m": 2**62, "x0": np.ones(4, np.float32)}
    waits: list[float] = []

    def time_without_screen(session: Any) -> tuple[float, float]:
        """Nanoseconds per iteration, wall-clock and CPU."""
        first = session.frame.iteration
        timer = threading.Timer(_RUN_SECONDS, session.interrupt)
        timer.start()
        start, cpu = time.perf_counter(), time.thread_time()
        session.continue_()
        clock, cpu = time.perf_counter() - start, time.thread_time() - cpu
        count = session.frame.iteration - first
        return clock / count * 1e9, cpu / count * 1e9

    async def shown(app: Any, debugger: Any, driver: Any) -> tuple[float, float]:
        run_command, cpu = driver._run_command, list[float]()

        def timed(command: Any) -> Any:
            start = time.thread_time()
            message = run_command(command)
            cpu.append(time.thread_time() - start)
            return message

        driver._run_command = timed
        first = driver.session.frame.iteration
        began = time.perf_counter()
        debugger.run_control.submit(SessionCommand.CONTINUE)
        await asyncio.sleep(_RUN_SECONDS)
        start = time.perf_counter()
        app.simulate_key("space")
        await asyncio.wait_for(debugger.run_control.wait_until_idle(), 60)
        waits.append((time.perf_counter() - start) * 1e3)
        count = driver.session.frame.iteration - first
        driver._run_command = run_command
        return (start - began) / count * 1e9, cpu[0] / count * 1e9

    async def pairs() -> list[tuple[tuple[float, float], tuple[float, float]]]:
        driver, session = CommandWorker(model, inputs, None), Session(model, inputs)
        debugger = DebuggerScreen(driver)
        app = LoopdbgApp[int](debugger)
        try:
            async with app.run_test(size=(120, 36)) as pilot:
                await asyncio.wait_for(debugger.run_control.wait_until_idle(), 60)
                await pilot.pause()
                OutputCounter(app)
                return [(await shown(app, debugger, driver), time_without_screen(session)) for _ in range(5)]
        finally:
            driver.close()

    results = asyncio.run(pairs())
    lines = [f"stop latency: median {statistics.median(waits):.0f} ms, worst {max(waits):.0f} ms"]
    for k, clock_name in enumerate(("by the clock", "of the processor")):
        on, off = (statistics.median(pair[side][k] for pair in results) for side in (0, 1))
        overhead = statistics.median(pair[0][k] / pair[1][k] for pair in results) - 1
        lines.append(
            f"live updates, {clock_name}: {on:.0f} ns an iteration on the screen, {off:.0f} ns without one "
            f"({100 * overhead:+.0f} %, the median of pairs)"
        )
    return lines


def large_tensor_lines(elements: int = 100_000_000) -> list[str]:
    """Opening the inspector on a large tensor: seconds to its first page and to its statistics, and the memory of the
    screen in addition to that of the session."""
    from loopdbg.tui.app import LoopdbgApp
    from loopdbg.tui.command_worker import CommandWorker, SessionCommand
    from loopdbg.tui.render.targets import ValueKind, ValueTarget
    from loopdbg.tui.screens.debugger.screen import DebuggerScreen
    from loopdbg.tui.screens.inspector import InspectorScreen

    model = _load_model(halving_loop(elements))
    nbytes = 4 * elements
    x0 = np.random.default_rng(0).standard_normal(elements, dtype=np.float32)
    # As the command reads inputs: no other references.
    x0.flags.writeable = False

    async def measure_inspector() -> list[str]:
        driver = CommandWorker(model, {"m": 10, "x0": x0}, None)
        debugger = DebuggerScreen(driver)
        app = LoopdbgApp[int](debugger)
        try:
            async with app.run_test(size=(120, 36)) as pilot:
                await asyncio.wait_for(debugger.run_control.wait_until_idle(), 120)
                # The first step allocates the memory of an iteration.
                for _ in range(2):
                    start = time.perf_counter()
                    debugger.run_control.submit(SessionCommand.STEP)
                    await asyncio.wait_for(debugger.run_control.wait_until_idle(), 120)
                step = time.perf_counter() - start
                await pilot.pause()
                base_bytes = _resident_bytes()
                start = time.perf_counter()
                debugger.dialogs.open_inspector(ValueTarget("x", 1, ValueKind.CARRIED))
                top = app.screen
                assert isinstance(top, InspectorScreen)
                while not top.grid.page.line_count:
                    await asyncio.sleep(0.005)
                open_seconds = time.perf_counter() - start
                while top.inspector_state.statistics.size < elements:
                    await asyncio.sleep(0.01)
                total_seconds = time.perf_counter() - start
                extra_bytes = _peak_bytes() - base_bytes
        finally:
            driver.close()
        return [
            f"{elements:.0e} elements ({nbytes / 2**20:.0f} MB): a step {step:.2f} s; the inspector shows a page after "
            f"{open_seconds:.2f} s, all statistics after {total_seconds:.2f} s",
            f"memory: the session {base_bytes / nbytes:.2f} times the tensor, the inspector "
            f"{max(extra_bytes, 0) / nbytes:.2f} times more",
        ]

    return asyncio.run(measure_inspector())


def _resident_bytes() -> int:
    """Bytes of memory in use."""
    for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return 0


def _peak_bytes() -> int:
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def lines(quick: bool) -> list[str]:
    """Return the whole report."""
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    head = f"load of the machine before: {load} on {os.cpu_count()} processors"
    return [
        head,
        *key_lines(quick),
        "",
        *graph_lines(),
        "",
        *count_calls.lines(),
        "",
        *stop_latency_lines(),
        *large_tensor_lines(10_000_000 if quick else 100_000_000),
    ]
