"""SVG snapshots of the screen, one for each state and size, compared with the last reviewed ones.

After an intended change: ``--snapshot-update``, and review what changed. Differences are in ``snapshot_report.html``
after a run. The models compute exact results in any order, or show no digit that another processor could round
differently; no snapshot contains a time, a rate or a folder.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from textual.app import App
from textual.pilot import Pilot
from textual.widgets import Input

from app_driver import IDLE_TIMEOUT_SECONDS
from lesson_driver import KEY_WORDING
from loopdbg.debugger.lessons.key_wording import KeyWording
from loopdbg.debugger.lessons.learner import Learner
from loopdbg.debugger.lessons.progress import LearnerProgress
from loopdbg.debugger.trace.reader import Trace
from loopdbg.debugger.trace.replay import Replay
from loopdbg.runtime.model import Model
from loopdbg.tui.app import LoopdbgApp
from loopdbg.tui.cli.model_inputs.editable_inputs import InputDraft
from loopdbg.tui.cli.model_inputs.gather import RunInputs
from loopdbg.tui.command_worker import CommandWorker
from loopdbg.tui.screens.debugger.run_control import RunControl
from loopdbg.tui.screens.debugger.screen import DebuggerScreen, make_lesson_screen
from loopdbg.tui.screens.input_editor import InputsScreen
from loopdbg.tui.screens.model_chooser import ModelChoice, ModelChooserScreen
from recordings import record_run
from screen_svg import render_screen
from text_models import BRANCHES, ROWS, model, sample

SIZES = ((80, 24), (120, 36), (200, 60))
NORMAL = SIZES[1:2]

#: Three steps of two rows; weights and activations for which every sum and product is exact in any order.
LSTM = """
lstm (float[3, 1, 2] X) => (float[3, 1, 1, 2] Y, float[1, 1, 2] H) {
  W = Constant <value = float[1, 8, 2] {1, 0, 0, 1, 1, -1, 0, 1, 2, 0, 1, 1, 1, 2, -1, 1}> ()
  R = Constant <value = float[1, 8, 2] {0, 1, 1, 0, 1, 0, 0, -1, 1, 1, 0, 1, -1, 0, 1, 1}> ()
  Y, H = LSTM <hidden_size = 2, activations = ["HardSigmoid", "Relu", "Relu"],
               activation_alpha = [0.25], activation_beta = [0.5]> (X, W, R)
}
"""


X = np.array([[[1, 2]], [[0, -1]], [[3, 1]]], np.float32)


def load_case(text: str, **inputs: Any) -> tuple[Model, Mapping[str, Any]]:
    """A model in ONNX text form, and its inputs."""
    return model(text), {name: np.asarray(value) for name, value in inputs.items()}


def debugger(opened: tuple[Model, Mapping[str, Any]]) -> App[int]:
    """The debugger on a model."""
    return LoopdbgApp(DebuggerScreen(CommandWorker(*opened, None), "inputs.npz"))


def recorded(path: Path) -> App[int]:
    """The debugger on a recording."""
    with record_run(path / "newton.loopdb", *sample("newton_sqrt.onnx"))[0]:
        pass
    replay = Replay(Trace.open(path / "newton.loopdb"))
    return LoopdbgApp(DebuggerScreen(CommandWorker(replay.model, {}, None, replay), "from newton.loopdb"))


def lesson() -> App[int]:
    """The third lesson, for a new learner."""
    learner = Learner(
        LearnerProgress(None), KeyWording({}, KEY_WORDING.comparison_text, KEY_WORDING.lesson_command), number=3
    )
    return LoopdbgApp(make_lesson_screen(learner))


def start() -> App[Path]:
    """The screen that ``loopdbg`` opens without arguments."""
    choices = [ModelChoice(Path("/models/speech.onnx"), "Recent"), ModelChoice(Path("/models/beam.xml"), "Recent")]
    choices += [ModelChoice(Path(f"/samples/{name}"), "Samples") for name in ("counter.onnx", "lstm.xml")]
    return LoopdbgApp(ModelChooserScreen(choices))


def inputs() -> App[bool]:
    """The inputs screen of a model that came without inputs."""
    result = model("of_two (float[N] x, int64 count, string[2] words) => (float[N] z) { z = Mul (x, x) }")
    feeds = {"x": np.zeros(1, np.float32), "count": np.array(0)}
    return LoopdbgApp(InputsScreen(InputDraft(result, RunInputs(feeds, "", True)), "model.onnx"))


@dataclass(frozen=True)
class SnapshotScene:
    """What is opened, and the keys pressed then; text that begins with a colon is typed into the focused input line, or
    else into the console. ``opens`` gets a folder to write to."""

    opens: Callable[[Path], App[Any]]
    pressed: Sequence[str] = ()
    sizes: Sequence[tuple[int, int]] = SIZES


def of_sample(name: str, *pressed: str, sizes: Sequence[tuple[int, int]] = SIZES) -> SnapshotScene:
    """A scene of the debugger on a sample."""
    return SnapshotScene(lambda _: debugger(sample(name)), pressed, sizes)


SCENES = {
    # One state of each family of models, at all sizes.
    "while": of_sample("newton_sqrt.onnx", *"ssssnnn"),
    "decoder": of_sample("greedy_decoder.onnx", *"sssss"),
    "scan": of_sample("lessons/digits.onnxtxt", *"fsssn"),
    "if": SnapshotScene(lambda _: debugger(load_case(BRANCHES, M=6, v0=np.float32(1))), (*"sssnn", "i")),
    "openvino-loop": of_sample("loop_nested.xml", *"snnisn"),
    "tensor-iterator": of_sample("reverse_sum.xml", *"sss"),
    "recurrent": SnapshotScene(lambda _: debugger(load_case(LSTM, X=X)), (*"snnnn",)),
    "tensorrt": of_sample("trt/nested.py", *"snnissn"),
    "recording": SnapshotScene(recorded, "sss"),
    # The start and modal screens, once each.
    "start": SnapshotScene(lambda _: start(), ("down",), NORMAL),
    "inputs": SnapshotScene(lambda _: inputs(), ("o", "down", "enter", ":7", "down"), NORMAL),
    "lesson": SnapshotScene(lambda _: lesson(), ("s", "s", "L"), NORMAL),
    "help": of_sample("newton_sqrt.onnx", "question_mark", sizes=NORMAL),
    "palette": of_sample("newton_sqrt.onnx", "s", "ctrl+p", *"back", sizes=NORMAL),
    "why": of_sample("newton_sqrt.onnx", *"sssW", sizes=NORMAL),
    "inspector": of_sample("spec_ab.onnx", *"ss", "2", "down", "enter", sizes=SIZES),
    "inspected-tensor": SnapshotScene(
        lambda _: debugger(load_case(ROWS)), (*"ssss", "2", "down", "enter", "down"), SIZES
    ),
    "heat-map": SnapshotScene(lambda _: debugger(load_case(ROWS)), (*"ssss", "2", "down", "enter", "m"), NORMAL),
    "plot": of_sample("newton_sqrt.onnx", *"ssss", "2", "down", "p", sizes=NORMAL),
    "console": of_sample("newton_sqrt.onnx", "s", "colon", ":break if err < 1e-2", ":print x, err", ":nonsense", "p"),
    "branches": of_sample("collatz.onnx", *"sss", ":set n = 40", *"ssb", sizes=NORMAL),
    "leave": of_sample("collatz.onnx", *"sss", ":set n = 40", *"ssq", sizes=NORMAL),
    "ended": of_sample("fibonacci.onnx", "c", sizes=NORMAL),
    "light": of_sample("greedy_decoder.onnx", "t", "b", "s", *"nnn", sizes=NORMAL),
    "full-screen": of_sample("newton_sqrt.onnx", *"sss", "3", "z", sizes=NORMAL),
    "tiny": of_sample("newton_sqrt.onnx", *"sss", sizes=((40, 10),)),
}


@pytest.mark.parametrize(
    ("name", "size"),
    [pytest.param(name, size, id=f"{name}-{size[0]}x{size[1]}") for name in SCENES for size in SCENES[name].sizes],
)
def test_screen(
    name: str,
    size: tuple[int, int],
    snap_compare: Callable[..., bool],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    # User settings and remembered state must not be visible.
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("LOOPDBG_CONFIG_DIR", str(tmp_path))
    monkeypatch.setattr(App, "export_screenshot", lambda app, **_: render_screen(app))
    monkeypatch.setattr(Input, "cursor_blink", False)
    scene = SCENES[name]

    async def press(pilot: Pilot[Any]) -> None:
        for keys in ("", *scene.pressed):
            if keys[:1] == ":":
                await type_line(pilot, keys[1:])
            elif keys:
                await pilot.press(keys)
            await wait_until_idle(pilot)

    app = scene.opens(tmp_path)
    try:
        assert snap_compare(app, terminal_size=size, run_before=press)
    finally:
        if (run := run_control(app)) is not None:
            run.session_worker.close()
            assert run.internal_error is None


def run_control(app: App[Any]) -> RunControl | None:
    """The run of a debugger; None if another screen is open."""
    assert isinstance(app, LoopdbgApp)
    return app.main_screen.run_control if isinstance(app.main_screen, DebuggerScreen) else None


async def type_line(pilot: Pilot[Any], text: str) -> None:
    """Type a line into the focused input, or else into the console, which is closed again."""
    within = isinstance(pilot.app.focused, Input)
    if not within:
        await pilot.press("colon")
    assert isinstance(pilot.app.focused, Input)
    pilot.app.focused.value = text
    await pilot.press("enter")
    await wait_until_idle(pilot)
    if not within:
        await pilot.press("escape")


async def wait_until_idle(pilot: Pilot[Any]) -> None:
    """Wait until no command and no background computation runs."""
    app, run = pilot.app, run_control(pilot.app)
    while True:
        if run is not None:
            await asyncio.wait_for(run.wait_until_idle(), IDLE_TIMEOUT_SECONDS)
        await pilot.pause()
        if not (any(worker.is_running for worker in app.workers) or (run is not None and run.session_worker.busy)):
            break
        await asyncio.sleep(0.01)
    await pilot.pause()
