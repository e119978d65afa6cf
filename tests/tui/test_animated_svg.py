"""The animated picture of the README: it is small, makes no requests, and each frame shows what the screen showed."""

from __future__ import annotations

import importlib.util
import sys
from html import unescape
from itertools import accumulate
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from browser import BROWSER, evaluate_on_svg

DOCS = Path(__file__).parents[2] / "docs"
#: The size up to which the README's host displays a picture.
LARGEST = 400_000
#: For the middle of each frame, the visible texts.
SEEN = """root => MIDDLES.map(at => {
  document.getAnimations().forEach(one => { one.pause(); one.currentTime = at * 1000 })
  return [...root.querySelectorAll('text')].filter(one => getComputedStyle(one).visibility === 'visible')
    .map(one => `${one.getAttribute('x')},${one.getAttribute('y')} ${one.textContent}`)
})"""


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_stepping", DOCS / "make_stepping.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look it up
    spec.loader.exec_module(module)
    return module


def texts(frame: Any, base: int) -> list[str]:
    """The texts of a frame, with their positions."""
    return sorted(f"{item.x},{item.y + base} {item.text}" for item in frame if item.text)


def test_unchanged_content_is_stored_once(script: ModuleType) -> None:
    a, b, c = (script.Item(k, 0, 1, name, "#fff", "") for k, name in enumerate("abc"))
    shown = [frozenset([a, b]), frozenset([a]), frozenset([a, b, c])]
    assert script.items_by_frame_span(shown) == {(0, 1): [b], (0, 3): [a], (2, 3): [b, c]}


def test_committed_picture_makes_no_requests() -> None:
    svg = (DOCS / "stepping.svg").read_text(encoding="utf-8")
    assert len(svg.encode()) < LARGEST
    assert svg.count("http") == 1 and 'xmlns="http://www.w3.org/2000/svg"' in svg
    assert not any(word in svg for word in ("url(", "@import", "@font-face", "<image", "href", "<script"))
    output = unescape(svg)
    for wanted in ("lstm.xml", "iteration 0 / 25", "LSTMCell(", "paused: breakpoint", "What it holds", "│"):
        assert wanted in output, wanted


@pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")
async def test_browser_shows_each_frame_as_the_screen_was(script: ModuleType, tmp_path: Path) -> None:
    story = [*script.STORY[:3], *script.STORY[-3:]]
    paper, shown = await script.story_frames(story)
    seconds = [step.seconds for step in story]
    starts = accumulate([0.0, *seconds[:-1]])
    middles = [start + second / 2 for start, second in zip(starts, seconds, strict=True)]
    svg = script.moving(paper, shown, seconds)
    seen = evaluate_on_svg(svg, SEEN.replace("MIDDLES", str(middles)), tmp_path)
    assert [sorted(item) for item in seen] == [texts(frame, script.BASELINE_PX) for frame in shown]
    assert len({tuple(entry) for entry in seen}) > 3


@pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")
async def test_last_frame_is_visible_without_animation(script: ModuleType, tmp_path: Path) -> None:
    story = script.STORY[:3]
    paper, shown = await script.story_frames(story)
    still = script.moving(paper, shown, [1.0] * 3).replace("</style>", "g { animation: none !important }</style>")
    (seen,) = evaluate_on_svg(still, SEEN.replace("MIDDLES", "[0]"), tmp_path)
    assert sorted(seen) == texts(shown[-1], script.BASELINE_PX)
