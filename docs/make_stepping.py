"""Writes the moving picture that README begins with: an LSTM is stepped in the real app, and each change is drawn.

python docs/make_stepping.py [FOLDER]     writes it next to itself, or into a folder

It is one SVG with CSS animation, so that it moves inside of ``<img>``, and asks no one for anything. What stays from a
frame to the next is in it once. Where nothing may move, its last frame is shown.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import numpy as np
from rich.cells import cell_len
from rich.segment import Segment
from textual.pilot import Pilot

import loopdbg
from loopdbg.tui.app import LoopdbgApp
from loopdbg.tui.command_worker import CommandWorker
from loopdbg.tui.screens.debugger.screen import DebuggerScreen

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from screen_svg import (
    BASELINE_PX,
    CELL_HEIGHT_PX,
    CELL_WIDTH_PX,
    background_color,
    group_runs,
    screen_rows,
    style_attributes,
)

HERE = Path(__file__).parent
NAME = "stepping.svg"
MODEL = HERE.parent / "sample_models" / "lstm.xml"
SIZE = (100, 30)


@dataclass(frozen=True)
class Step:
    """A key press, or text typed into the console after a colon; its caption, and how long its screen stays."""

    pressed: str
    text: str
    seconds: float = 1.0


STORY = (
    Step("", "an LSTM, stopped before its first iteration", 2.5),
    *[Step("s", "one iteration")] * 4,
    *[Step("n", "one node of the body")] * 4,
    Step("S", "back by an iteration"),
    Step("S", "back by an iteration", 1.5),
    Step(":break if max(abs(h)) > 0.6", "stop where this is true", 2),
    Step("c", "on to the breakpoint", 2.5),
    Step("G", "the loop as a graph", 2.5),
    *[Step("n", "one node of the body")] * 4,
    Step("escape", "back to the panes"),
    Step("2", "to what the loop carries"),
    Step("enter", "all of a value, over all iterations", 4),
)


@dataclass(frozen=True)
class Item:
    """Something that is drawn: a text, or what is behind one (no text)."""

    x: int
    y: int
    width: int
    text: str
    colour: str
    classes: str


Frame = frozenset[Item]


async def story_frames(story: Sequence[Step] = STORY) -> tuple[str, list[Frame]]:
    """The colour of the paper, and each screen of the story."""
    with tempfile.TemporaryDirectory() as folder, np.load(MODEL.with_suffix(".inputs.npz")) as inputs:
        # What someone chose for their own screen is not to be in it.
        os.environ["LOOPDBG_CONFIG_DIR"] = folder
        debugger = DebuggerScreen(CommandWorker(loopdbg.load(MODEL), dict(inputs), None))
        app = LoopdbgApp[int](debugger)
        async with app.run_test(size=SIZE) as pilot:
            results = []
            for step in story:
                await _press(debugger, pilot, step.pressed)
                results.append(frozenset(items(screen_rows(app), background_color(app))))
            return background_color(app), results


async def _press(debugger: DebuggerScreen, pilot: Pilot[int], pressed: str) -> None:
    """Press a key, or type a line, and wait for what it leads to."""
    await debugger.run_control.wait_until_idle()
    if pressed.startswith(":"):
        await pilot.press("colon")
        debugger.console_pane.input_line.value = pressed[1:]
        await pilot.press("enter")
        await debugger.run_control.wait_until_idle()
        await pilot.press("escape")
    elif pressed:
        await pilot.press(pressed)
    await debugger.run_control.wait_until_idle()
    await pilot.pause(0.3)  # what is computed next to the screen


def items(rows: Sequence[Sequence[Segment]], paper: str) -> Iterator[Item]:
    """What is drawn of a screen."""
    for number, row in enumerate(rows):
        y = number * CELL_HEIGHT_PX
        for index, text, ground in group_runs(row, lambda segment: style_attributes(segment.style)[1]):
            if ground and ground != paper:
                yield Item(index * CELL_WIDTH_PX, y, cell_len(text) * CELL_WIDTH_PX, "", ground, "")
        for index, text, (ink, _, classes) in group_runs(row, lambda segment: style_attributes(segment.style)):
            seen = text.strip(" ")
            if seen:
                index += len(text) - len(text.lstrip(" "))
                yield Item(index * CELL_WIDTH_PX, y, cell_len(seen) * CELL_WIDTH_PX, seen, ink, classes)


def caption_frames(story: Sequence[Step], y: int) -> list[Frame]:
    """Below the screen: the key, and what it does."""
    results = []
    for step in story:
        key = step.pressed or "loopdbg lstm.xml"
        message = Item((len(key) + 3) * CELL_WIDTH_PX, y, len(step.text) * CELL_WIDTH_PX, step.text, "#9aa4b2", "")
        results.append(frozenset([Item(CELL_WIDTH_PX, y, len(key) * CELL_WIDTH_PX, key, "#e0b65c", "b"), message]))
    return results


# -- the picture


def items_by_frame_span(shown: Sequence[Frame]) -> dict[tuple[int, int], list[Item]]:
    """What is seen from one frame to another (not with it), by both: what stays is there once."""
    results: dict[tuple[int, int], list[Item]] = {}
    since: dict[Item, int] = {}
    for k, frame in enumerate([*shown, frozenset()]):
        for item in [entry for entry in since if entry not in frame]:
            results.setdefault((since.pop(item), k), []).append(item)
        since.update((item, k) for item in frame if item not in since)
    return {span: sorted(some, key=lambda element: (element.y, element.x)) for span, some in sorted(results.items())}


def moving(paper: str, shown: Sequence[Frame], seconds: Sequence[float]) -> str:
    """Frames as one SVG; each is seen for so long, and then all over again."""
    spans = items_by_frame_span(shown)
    ends = np.cumsum([0, *seconds]) / sum(seconds) * 100
    colours = sorted({item.colour for some in spans.values() for item in some if item.text})
    named = {colour: f"c{k}" for k, colour in enumerate(colours)}
    width, height = SIZE[0] * CELL_WIDTH_PX, (SIZE[1] + 2) * CELL_HEIGHT_PX
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">\n<style>\n',
        "text { font: 16.6px 'DejaVu Sans Mono', Menlo, Consolas, monospace; white-space: pre }\n",
        ".b { font-weight: bold } .i { font-style: italic } .d { opacity: 0.6 }\n",
        *(f".{name} {{ fill: {colour} }}\n" for colour, name in named.items()),
        *(_visibility_style(begin, end, ends, len(shown), sum(seconds)) for begin, end in spans),
        "@media (prefers-reduced-motion: reduce) { g { animation: none !important } }\n</style>\n",
        f'<rect width="{width}" height="{height}" fill="{paper}"/>\n',
    ]
    # What is behind texts lies below all of them.
    for texts in (False, True):
        for (begin, end), some in spans.items():
            drawn = [_item_svg(item, named) for item in some if bool(item.text) == texts]
            if drawn:
                parts.append(f'<g class="t{begin}-{end}">\n{"".join(drawn)}</g>\n')
    return "".join((*parts, "</svg>\n"))


def _visibility_style(begin: int, end: int, ends: Sequence[float], count: int, seconds: float) -> str:
    """The style of what is seen from one frame to another; without animation that of the last frame is seen."""
    name = f"t{begin}-{end}"
    if (begin, end) == (0, count):
        return ""
    words = [(ends[begin], "visible"), (ends[end], "hidden")]
    if begin:
        words.insert(0, (0.0, "hidden"))
    steps = " ".join(f"{index:.2f}% {{ visibility: {word} }}" for index, word in words)
    still = "" if end == count else " visibility: hidden;"
    return f".{name} {{{still} animation: {name} {seconds:g}s step-end infinite }}\n@keyframes {name} {{ {steps} }}\n"


def _item_svg(item: Item, named: dict[str, str]) -> str:
    if not item.text:
        return (
            f'<rect x="{item.x}" y="{item.y}" width="{item.width}" height="{CELL_HEIGHT_PX}" fill="{item.colour}"/>\n'
        )
    classes = f"{named[item.colour]} {item.classes}".strip()
    return f'<text x="{item.x}" y="{item.y + BASELINE_PX}" class="{classes}">{escape(item.text, quote=False)}</text>\n'


def picture(story: Sequence[Step] = STORY) -> str:
    """The moving picture."""
    paper, screens = asyncio.run(story_frames(story))
    message = caption_frames(story, (SIZE[1] + 1) * CELL_HEIGHT_PX - CELL_HEIGHT_PX // 2)
    return moving(paper, [a | b for a, b in zip(screens, message, strict=True)], [step.seconds for step in story])


def main(folder: Path) -> None:
    """Write it."""
    target = folder / NAME
    target.write_text(picture(), encoding="utf-8")
    print(target)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
