"""The pictures of the README and docs match what the app draws, and make no requests."""

from __future__ import annotations

import importlib.util
import re
import sys
from html import unescape
from pathlib import Path
from types import ModuleType

import pytest

DOCS = Path(__file__).parents[2] / "docs"


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_screenshots", DOCS / "make_screenshots.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look it up
    spec.loader.exec_module(module)
    return module


def text(svg: str) -> str:
    return unescape(" ".join(re.findall(r"<text[^>]*>([^<]*)</text>", svg))).replace("\xa0", " ")


#: The content that each picture is meant to show.
SHOWN = {
    "screenshot": ("newton_sqrt.onnx", "iteration 4 / no limit", "keep = err_new > tol", "T T T T T ·"),
    "lstm": ("lstm.xml", "iteration 7 / 25", "part 7", "7 so far"),
    "condition": ("power_iteration.onnx", "estimate", "log scale"),
    "scan": ("Scan outputs", "stacked on axis 0"),
    "inspector": ("h", "float32 [1,256]", "What it holds", "Over iterations"),
    "branches": ("branch 2", "x = 30", "the run"),
    "lesson": ("Lesson 3 of 29", "Back edges"),
    "light": ("greedy_decoder.onnx", "Breakpoints"),
    "tensorrt": ("halving.py", "if not above: break", "Back edges"),
}
#: The same for the reports of command lines.
REPORTED = {
    "profile": ("greedy_decoder.onnx", "loop main ▸ decode: 11 iterations", "MatMul in decode: h_R = h @ R"),
    "precision": ("loop_nested.xml in float16", "for an error of 0.0001", "node_block_list=['add_term']"),
    "optimize": ("unread-carried in main ▸ sqrt", "bit for bit", "in onnxruntime"),
    "diagnose": ("integer overflow: main ▸ collatz, iteration 0", "it becomes -4611686018427387895"),
    "invariants": ("held in 1 run, at 13 boundaries", "abs(norm(v) - 1) < 0.001 in power_iteration"),
}


def test_every_picture_exists() -> None:
    assert set(script().SCENES) == set(SHOWN) and set(script().REPORTS) == set(REPORTED)


def test_every_picture_is_on_a_page() -> None:
    pages = [DOCS.parent / "README.md", *DOCS.glob("*.md")]
    seen = {
        Path(item).name for page in pages for item in re.findall(r"!\[[^\]]+\]\(([^)]+)\)", page.read_text("utf-8"))
    }
    assert seen == {path.name for path in DOCS.glob("*.svg")}


@pytest.mark.parametrize("name", SHOWN)
async def test_rendered_picture_shows_its_content(name: str) -> None:
    svg = await script().screenshot(name)
    assert svg.count("http") == 1 and 'xmlns="http://www.w3.org/2000/svg"' in svg
    assert "@font-face" not in svg
    for wanted in SHOWN[name]:
        assert wanted in text(svg)


@pytest.mark.parametrize("name", {**SHOWN, **REPORTED})
def test_committed_picture_is_current(name: str) -> None:
    committed = text((DOCS / f"{name}.svg").read_text(encoding="utf-8"))
    for wanted in {**SHOWN, **REPORTED}[name]:
        assert wanted in committed


@pytest.mark.parametrize("name", [name for name in REPORTED if name != "optimize"])  # which takes its time
def test_drawn_report_shows_its_content(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOPDBG_CONFIG_DIR", str(tmp_path))
    svg = script().report(name)
    assert svg.count("http") == 1 and "@font-face" not in svg
    for wanted in REPORTED[name]:
        assert wanted in text(svg)
