"""HTML representations of objects in notebooks: well-formed, escaped, short, and worded as in the console."""

from __future__ import annotations

from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import loopdbg
from text_models import SAMPLES

NEWTON = SAMPLES / "newton_sqrt.onnx"
MODEL_INPUTS = {"a": 2.0, "tol": 1e-6}
EMPTY = {"rect", "br"}


class HtmlChecker(HTMLParser):
    """Checks that tags are closed in order, and collects the text between them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in EMPTY:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1] != "style":
            self.text += data


def stepped() -> loopdbg.Session:
    session = loopdbg.debug(NEWTON, MODEL_INPUTS)
    session.step(2)
    return session


def ended() -> loopdbg.Session:
    session = loopdbg.debug(NEWTON, MODEL_INPUTS)
    session.continue_()
    return session


@pytest.mark.parametrize(
    ("function", "messages"),
    [
        (lambda: loopdbg.load(NEWTON), ["newton_sqrt.onnx", "tol", "float32", "main ▸ sqrt"]),
        (lambda: loopdbg.load(NEWTON).execute(MODEL_INPUTS), ["root", "1.4142135", "main ▸ sqrt", "the condition"]),
        (
            lambda: loopdbg.load(NEWTON).execute(MODEL_INPUTS, max_iterations=2),
            ["ended early:", "limit of 2 iterations"],
        ),
        (stepped, ["newton_sqrt.onnx", "before iteration 2", "x_new = half + half_q", "iteration 1 got", "1.4166667"]),
        (ended, ["the model ran to its end", "root"]),
        (lambda: stepped().stop, ["step", "before iteration 2 of loop 'sqrt'"]),
        (lambda: stepped().frame, ["main ▸ sqrt", "before iteration 2", "no trip count", "float32 [2]"]),
        (lambda: stepped().frames[0], ["main", "the graph around the loops"]),
        (lambda: stepped().why(), ["err_new > tol"]),
        (lambda: stepped().listing(), ["x_new = half + half_q"]),
        (lambda: loopdbg.load(NEWTON).explain(), ["Loop 'sqrt'", "while keep:"]),
        (lambda: loopdbg.diff(NEWTON, NEWTON, MODEL_INPUTS), ["same: newton_sqrt.onnx and newton_sqrt.onnx"]),
        (
            lambda: loopdbg.diff(NEWTON, {"x": [1.5, 1.5]}, MODEL_INPUTS),
            ["differ:", "first difference", "main ▸ sqrt", "1.4166667"],
        ),
        (lambda: stepped().frame.show("x"), ["x", "float32 = 1.4166667"]),
        (lambda: stepped().frame.show("xs"), ["xs", "float32 [2] [1.5, 1.4166667]"]),
    ],
)
def test_html_shows_the_content(function: Callable[[], Any], messages: list[str]) -> None:
    thing = function()
    result = HtmlChecker(thing._repr_html_()).text
    assert [word for word in messages if word not in result] == []


def test_recording_and_hook_frame_have_html(tmp_path: Path) -> None:
    seen: list[str] = []
    loopdbg.load(NEWTON).run(MODEL_INPUTS, on_iteration=lambda frame: seen.append(frame._repr_html_()))
    assert "before iteration 1" in HtmlChecker(seen[1]).text
    stepped().record(tmp_path / "run.loopdb")
    with loopdbg.Trace.open(tmp_path / "run.loopdb") as trace:
        replay = loopdbg.Replay(trace)
        replay.step()
        assert "before iteration 1" in HtmlChecker(replay._repr_html_()).text
        assert "before iteration 1" in HtmlChecker(replay.frame._repr_html_()).text


def hostile(name: str) -> onnx.ModelProto:
    """A model in which everything has this name."""
    model = onnx.load(NEWTON)
    text = onnx.printer.to_text(model)
    renamed = onnx.parser.parse_model(text)
    renamed.graph.name = name
    for node in renamed.graph.node:
        node.name = name if node.op_type == "Loop" else node.name
    return renamed


def test_names_are_escaped() -> None:
    name = "<img src=x onerror=alert(1)>"
    model = loopdbg.load(hostile(name))
    session = loopdbg.debug(model, MODEL_INPUTS)
    for thing in (
        model,
        session,
        session.stop,
        session.frame,
        model.execute(MODEL_INPUTS),
        session.why(),
        model.explain(),
    ):
        assert "<img" not in thing._repr_html_()
        assert "onerror" in HtmlChecker(thing._repr_html_()).text


def test_large_tensors_are_short() -> None:
    ramp = np.arange(4_000_000, dtype=np.float32).reshape(2000, 2000)
    shown = type(stepped().frame.show("x"))("w", ramp)
    assert (
        "min 0.0 max" in HtmlChecker(shown._repr_html_()).text or "min 0 max" in HtmlChecker(shown._repr_html_()).text
    )
    assert len(shown._repr_html_()) < 120_000
    run = loopdbg.Run(outputs={"w": ramp})
    assert len(run._repr_html_()) < 3000


def test_html_assumes_no_page_colours() -> None:
    """Text and lines inherit the surrounding colour, so that they are readable on dark and light pages."""
    result = stepped()._repr_html_()
    assert "currentColor" in result and "color:#" not in result and "background:#" not in result
