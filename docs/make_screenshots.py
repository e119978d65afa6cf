"""Writes the pictures of README and docs from the real app, the same bytes each time but for what is measured.

python docs/make_screenshots.py [FOLDER]     writes them next to itself, or into a folder
"""

from __future__ import annotations

import asyncio
import io
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.text import Text

import loopdbg
from loopdbg.debugger.lessons.key_wording import KeyWording
from loopdbg.debugger.lessons.learner import Learner
from loopdbg.debugger.lessons.progress import LearnerProgress
from loopdbg.tui.app import LoopdbgApp
from loopdbg.tui.cli import main
from loopdbg.tui.command_worker import CommandWorker
from loopdbg.tui.screens.debugger.screen import DebuggerScreen, make_lesson_screen

ROOT = Path(__file__).parents[1]
#: The export names fonts on a server; a picture should ask no one.
FONTS = re.compile(r"\s*@font-face \{.*?\}|\s*<!--.*?-->", re.DOTALL)
FAMILY = re.compile(r"font-family: ?[^;]*Fira Code[^;]*;")


@dataclass(frozen=True)
class PictureScene:
    """A picture: what is opened (a sample model, or a lesson's number), and what is pressed. A line that begins with a
    colon is typed into the console, which is closed again."""

    opened: str | int
    pressed: Sequence[str]
    size: tuple[int, int] = (120, 36)


SCENES = {
    "screenshot": PictureScene("newton_sqrt.onnx", (*"ssss", *"nnnnnn")),
    "lstm": PictureScene("lstm.xml", "sssssss"),
    "condition": PictureScene("power_iteration.onnx", "ssssssssss", (120, 44)),
    "scan": PictureScene("two_layer_lstm.onnx", "ssssssssss"),
    "inspector": PictureScene("lstm.xml", ("s", "s", "s", "s", "2", "enter")),
    "branches": PictureScene("newton_sqrt.onnx", ("s", "s", ":set x = 30", "s", "s", "s", "8")),
    "lesson": PictureScene(3, ("s", "s", "s")),
    "light": PictureScene("greedy_decoder.onnx", ("t", "b", "c", "s", "n", "n", "n")),
    "tensorrt": PictureScene("trt/halving.py", "ssss"),
}

#: Command lines whose report is a picture, in the folder of the samples.
REPORTS = {
    "profile": "loopdbg profile greedy_decoder.onnx --nodes 8",
    "precision": "loopdbg precision loop_nested.xml --tolerance 1e-4",
    "optimize": "loopdbg optimize newton_sqrt.onnx",
    "diagnose": "loopdbg run collatz.onnx --input start=4611686018427387907 --diagnose --max-iterations 3",
    "invariants": "loopdbg invariants power_iteration.onnx",
}
_REPORT_COLUMNS = 120


def report(name: str) -> str:
    """What a command line prints, as SVG."""
    with chdir(ROOT / "sample_models"), redirect_stdout(io.StringIO()) as printed, redirect_stderr(io.StringIO()):
        main(shlex.split(REPORTS[name])[1:])
    lines = printed.getvalue().splitlines()
    console = Console(record=True, file=io.StringIO(), width=min(max(map(len, lines)), _REPORT_COLUMNS))
    # An empty line: the last one is cut below its letters.
    console.print(Text("\n".join([*lines, ""])))
    return _without_fonts(console.export_svg(title=REPORTS[name], unique_id=f"terminal-{name}"))


def _without_fonts(svg: str) -> str:
    """A picture with whatever monospace font the reader has."""
    svg = FAMILY.sub("font-family: 'DejaVu Sans Mono', Menlo, Consolas, monospace;", FONTS.sub("", svg))
    return "".join(f"{line.rstrip()}\n" for line in svg.splitlines())


def _open_scene(scene: PictureScene) -> DebuggerScreen:
    if isinstance(scene.opened, int):
        learner = Learner(
            LearnerProgress(None), KeyWording({}, lambda scene, peer: "", lambda number: ""), number=scene.opened
        )
        return make_lesson_screen(learner)
    path = ROOT / "sample_models" / scene.opened
    with np.load(path.with_suffix(".inputs.npz")) as inputs:
        driver = CommandWorker(loopdbg.load(path), dict(inputs), None)
    return DebuggerScreen(driver, path.with_suffix(".inputs.npz").name)


async def screenshot(name: str = "screenshot", size: tuple[int, int] | None = None) -> str:
    """A picture as SVG, with whatever monospace font the reader has."""
    scene = SCENES[name]
    with tempfile.TemporaryDirectory() as folder:
        # What someone chose for their own screen is not to be in it.
        os.environ["LOOPDBG_CONFIG_DIR"] = folder
        debugger = _open_scene(scene)
        app = LoopdbgApp[int](debugger)
        async with app.run_test(size=size or scene.size) as pilot:
            await debugger.run_control.wait_until_idle()
            for press in scene.pressed:
                if press.startswith(":"):
                    await pilot.press("colon")
                    debugger.console_pane.input_line.value = press[1:]
                    await pilot.press("enter")
                    await debugger.run_control.wait_until_idle()
                    if debugger.console_pane.display:
                        await pilot.press("escape")
                else:
                    await pilot.press(press)
                await debugger.run_control.wait_until_idle()
                await pilot.pause()
            await pilot.pause(0.3)  # what is computed next to the screen
            title = f"lesson {scene.opened}" if isinstance(scene.opened, int) else scene.opened
            svg = app.export_screenshot(title=f"loopdbg {title}")
    # The export numbers its styles again in each process.
    match = re.search(r"terminal-\d+", svg)
    svg = svg if match is None else svg.replace(match[0], f"terminal-{name}")
    return _without_fonts(svg)


def write_pictures(folder: Path) -> None:
    """Write all of them."""
    for name in (*SCENES, *REPORTS):
        target = folder / f"{name}.svg"
        target.write_text(asyncio.run(screenshot(name)) if name in SCENES else report(name), encoding="utf-8")
        print(target)


if __name__ == "__main__":
    write_pictures(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs")
