"""A model without loops opens on its graph, runs node by node in both directions, and has no empty pane."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import pytest

import loopdbg
from app_driver import AppDriver, open_app
from loopdbg.debugger.session.session import Session
from loopdbg.tui.screens.graph import GraphScreen
from loopdbg.tui.screens.inspector import InspectorScreen
from text_models import model, sample

PLAIN = """
plain (float[N] x) => (float[N] z) {
  y = Mul (x, x)
  h = Add (y, x)
  z = Exp (h)
}
"""
CHOICE = """
chosen (float[N] x, bool pick) => (float[N] z) {
  g = Tanh (x)
  [choice] c = If (pick) <
    then_branch = yes () => (float[N] t) { a = Exp (g)
      t = Neg (a) },
    else_branch = no () => (float[N] e) { e = Neg (g) }
  >
  z = Relu (c)
}
"""


def x() -> dict[str, Any]:
    """Inputs of the first model."""
    return {"x": np.array([1, 2], np.float32)}


@asynccontextmanager
async def on_graph(
    opened_model: loopdbg.Model, inputs: dict[str, Any], size: tuple[int, int] = (120, 36)
) -> AsyncIterator[AppDriver]:
    """The app on a model, once its graph is drawn, which happens after the panes."""
    async with open_app(opened_model, inputs, size=size) as screen:
        await screen.wait_until(lambda: isinstance(screen.app.screen, GraphScreen) and "▶" in screen.app.screen.text)
        yield screen


def graph(screen: AppDriver) -> GraphScreen:
    """The graph, which is in front."""
    top = screen.app.screen
    assert isinstance(top, GraphScreen)
    return top


def next_box(screen: AppDriver) -> str:
    """The box that runs next, as it is drawn."""
    return graph(screen).graph_view.text.partition("▶")[2].split()[0]


async def test_model_opens_on_its_graph_and_steps_both_ways() -> None:
    async with on_graph(model(PLAIN), x()) as screen:
        assert "the model has no loop" in graph(screen).text
        assert next_box(screen) == "y" and "f32 [2]  [1.0, 2.0] " in graph(screen).graph_view.text
        for key, box in (("n", "h"), ("s", "z"), ("N", "h"), ("S", "y"), ("n", "h")):
            await screen.press(key)
            assert next_box(screen) == box, key
        # An executed node shows its value.
        assert "f32 [2]  [1.0, 4.0] " in graph(screen).graph_view.text
        await screen.press("c")
        assert screen.session.done and "▶" not in graph(screen).graph_view.text
        await screen.press("r")
        assert next_box(screen) == "y"


async def test_values_open_from_the_graph() -> None:
    async with on_graph(model(PLAIN), x()) as screen:
        await screen.press("n", "up", "enter")
        top = screen.app.screen
        assert isinstance(top, InspectorScreen)
        await screen.wait_until(lambda: top.inspector_state.statistics.size)
        assert top.inspector_state.statistics.size == 2
        await screen.press("escape")
        assert graph(screen)


@pytest.mark.parametrize("size", [(80, 24), (120, 36), (200, 60)])
async def test_loop_panes_are_absent(size: tuple[int, int]) -> None:
    async with on_graph(model(PLAIN), x(), size=size) as screen:
        await screen.press("escape")
        assert screen.marked_line.startswith("▶ y = x * x")
        panes = screen.panes
        about = ("back-edges", "condition", "scans", "timeline", "stack")
        assert [name for name in about if panes[name].display] == []
        assert all(pane.lines for pane in panes.values() if pane.display)
        # Keys that step by iteration or plot are absent too.
        assert not {"step", "finish", "plot", "goto"} & set(screen.keys.split())
        await screen.press("n", "s")
        assert screen.marked_line.startswith("▶ z = Exp(h)")
        await screen.press("left")
        assert screen.marked_line.startswith("▶ h = y + x") and screen.value_next_to("y") == "[1.0, 4.0]"
        await screen.press("n", "n", "9")
        assert screen.session.done and "[7.389056, 403.4288]" in screen.text("outputs")


async def test_empty_tabs_are_absent() -> None:
    async with on_graph(model(PLAIN), x(), size=(80, 24)) as screen:
        await screen.press("escape")
        assert screen.pane_control.tab_bar.text.split() == ["[Source]", "Values", "Time"]
        await screen.press("less_than_sign")
        assert screen.pane_control.tab_bar.text.split() == ["Source", "Values", "[Time]"]
        await screen.pilot.click("#tabs", offset=(12, 0))
        await screen.wait_until_idle()
        assert "[Values]" in screen.pane_control.tab_bar.text and screen.panes["inputs"].display


async def test_graph_follows_the_taken_branch_of_an_if() -> None:
    async with on_graph(model(CHOICE), {**x(), "pick": np.array(True)}) as screen:
        await screen.press("n")
        assert next_box(screen) == "?" and "choice" in graph(screen).detail_line.text
        # Inside the branch the box keeps its position; opened, it shows both branches.
        await screen.press("i", "n")
        assert screen.session.stop.text.startswith("before Neg 'Neg_1'")
        assert next_box(screen) == "?"
        await screen.press("enter")
        assert "▶t Neg" in graph(screen).graph_view.text
        assert "[a Exp]" in graph(screen).graph_view.text and " 2.14 .. 2.62 " in graph(screen).graph_view.text


async def test_model_with_loops_opens_on_its_panes() -> None:
    async with open_app(*sample("newton_sqrt.onnx")) as screen:
        assert not isinstance(screen.app.screen, GraphScreen)
        assert screen.panes["back-edges"].display and "step" in screen.keys


def test_step_runs_one_node() -> None:
    session = Session(model(PLAIN), x())
    assert [session.step().text for _ in range(2)] == [
        "before Add 'Add_1'; the model has no loop",
        "before Exp 'Exp_2'; the model has no loop",
    ]
    assert session.back(2).text == "before Mul 'Mul_0'; the model has no loop"
    assert session.step(3).text == "the model ran to its end; it has no loop"
    # The session likewise has a frame before each node.
    with loopdbg.debug(model(PLAIN), x()) as again:
        assert [sum(entry.state == "done" for entry in frame.nodes) for frame in again] == [0, 1, 2]
