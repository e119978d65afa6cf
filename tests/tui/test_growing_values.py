"""A carried value that grows, such as a key cache: it is compared with its previous rows, and new rows are marked; also
the value of a carried tensor within an iteration."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import pytest

import loopdbg
from app_driver import AppDriver, open_app
from loopdbg.tui.render.targets import ValueKind, ValueTarget
from loopdbg.tui.screens.inspector import InspectorScreen
from text_models import model, sample

#: ``factor``: 1 leaves the existing rows unchanged. ONE_ROW is the shape that an iteration appends along AXIS.
CACHE = """
cache (int64 n, float[..] keys0, float factor) => (float[..] keys) {
  [decode] keys = Loop <body = step (int64 i, bool c, float[..] past) => (bool go, float[..] present) {
    go = Identity (c)
    kept = Mul (past, factor)
    f = Cast <to = 1> (i)
    shape = Constant <value = int64[4] {ONE_ROW}> ()
    row = Expand (f, shape)
    present = Concat <axis = AXIS> (kept, row)
  }> (n, , keys0)
}
"""
PAST = ValueTarget("past", 1, ValueKind.CARRIED)


def cache(axis: int = 2) -> loopdbg.Model:
    """A cache of shape [1,2,3,4] that grows along an axis."""
    row = [1, 2, 3, 4]
    row[axis] = 1
    shape = ", ".join(map(str, row))
    return model(CACHE.replace("AXIS", str(axis)).replace("ONE_ROW", shape).replace("float[..]", "float[1,2,A,B]"))


def inputs(factor: float = 1) -> dict[str, Any]:
    """Five iterations on a cache of three rows."""
    keys = np.arange(24, dtype=np.float32).reshape(1, 2, 3, 4)
    return {"n": np.int64(5), "keys0": keys, "factor": np.float32(factor)}


async def open_value(screen: AppDriver, target: ValueTarget) -> InspectorScreen:
    """Open the inspector on a value, and wait until it has computed everything."""
    screen.debugger.dialogs.open_inspector(target)
    await screen.pilot.pause()
    top = screen.app.screen
    assert isinstance(top, InspectorScreen)
    await screen.wait_until(lambda: top.grid.lines and top.inspector_state.statistics.size)
    return top


@asynccontextmanager
async def on_cache(
    axis: int = 2, factor: float = 1, steps: int = 2
) -> AsyncIterator[tuple[AppDriver, InspectorScreen]]:
    """Open the inspector on the cache before iteration ``steps``."""
    async with open_app(cache(axis), inputs(factor)) as screen:
        await screen.press(*["s"] * steps)
        top = await open_value(screen, PAST)
        await screen.wait_until(lambda: top.inspector_state.change is not None)
        yield screen, top


def cells(top: InspectorScreen) -> list[list[str]]:
    """For each row its index and its cells, the one at the cursor without its brackets."""
    return [line.text.replace("[", " ").replace("]", " ").split() for line in top.grid.lines[1:]]


async def compared(screen: AppDriver, top: InspectorScreen, *keys: str) -> None:
    """Press keys, and wait until a difference is shown."""
    await screen.press(*keys)
    await screen.wait_until(lambda: top.grid.viewport.baseline is not None and top.inspector_state.change is not None)
    await screen.pilot.pause()


async def test_new_rows_are_marked_and_the_others_compared() -> None:
    async with on_cache() as (screen, top):
        # The facts mention the new rows before any key is pressed.
        assert "1 new row on axis 2, the 4 before unchanged" in " ".join(top.statistics_box.text.split())
        await compared(screen, top, "t")
        assert "Δ to iteration 1: 1 new row on axis 2" in top.grid.text
        assert {row[0]: row[1:] for row in cells(top)} == {
            **{f"{head},{k}": ["="] * 4 for head in range(2) for k in range(4)},
            "0,4": ["new"] * 4,
            "1,4": ["new"] * 4,
        }
        await screen.press("x")
        await screen.wait_until(lambda: "changed" in top.note)
        assert top.note == "nothing that was there before changed since iteration 1"
        await screen.press("m")
        assert "+ new" in top.grid.text
        new = [line.text.split()[-1] for line in top.grid.lines if line.text.startswith(("4 ", "9 "))]
        assert new == ["+" * 16] * 2


async def test_changes_before_the_new_rows_are_found() -> None:
    async with on_cache(factor=2) as (screen, top):
        message = " ".join(top.statistics_box.text.split())
        # Of 32 elements, 8 are zero: one element of the input, and the row that iteration 0 added.
        assert "1 new row on axis 2, the 4 before: 23 of 32 elements changed" in message
        await screen.press("x")
        await screen.wait_until(lambda: "changed most" in top.note)
        assert top.note == "changed most: by 46 at [0,1,2,3]"
        assert top.grid.cursor_index == (0, 1, 2, 3)


async def test_new_columns_along_the_last_axis_are_marked() -> None:
    async with on_cache(axis=3, steps=1) as (screen, top):
        await compared(screen, top, "t")
        assert cells(top) == [[f"{a},{b}", *["="] * 4, "new"] for a in range(2) for b in range(3)]


async def test_value_is_shorter_than_in_a_later_iteration() -> None:
    async with on_cache(steps=4) as (screen, top):
        await screen.press("left", "left")
        await screen.wait_until(lambda: top.inspector_state.iteration == 2)
        top.inspector_state.compare_with(4, top._show_difference)
        await screen.wait_until(
            lambda: top.grid.viewport.baseline is not None and top.inspector_state.change is not None
        )
        assert "Δ to iteration 4: 2 rows fewer on axis 2" in top.grid.text
        assert "new" not in "".join(line.text for line in top.grid.lines)
        assert "2 rows fewer on axis 2, the other 5 unchanged" in " ".join(top.statistics_box.text.split())


async def test_back_edge_pane_counts_new_rows() -> None:
    async with open_app(cache(), inputs()) as screen:
        await screen.press("s")
        assert "+1 row" in screen.text("back-edges") and "[1,2,4,4]" in screen.text("back-edges")


@pytest.mark.parametrize("nodes", [1, 3, 6])
async def test_carried_value_within_an_iteration_is_the_received_one(nodes: int) -> None:
    """This holds whether or not the iteration has already computed its result."""
    async with open_app(*sample("newton_sqrt.onnx")) as screen:
        await screen.press("s", "s", *["n"] * nodes)
        edge = screen.session.frame.back_edges[0]
        assert not screen.session.frame.at_boundary and edge.param == "x"
        assert edge.ready == (nodes == 6)
        screen.panes["back-edges"].focus()
        await screen.press("home", "down")
        assert "as iteration 2 got it   1.4166" in screen.detail_line.text
        await screen.press("enter")
        top = screen.app.screen
        assert isinstance(top, InspectorScreen)
        await screen.wait_until(lambda: top.grid.lines and not screen.session_worker.busy)
        assert "into iteration 2" in str(top.title_label.content) and "the stop is at" not in str(
            top.title_label.content
        )
        assert top.inspector_state.tensor is not None and top.inspector_state.tensor[()] == edge.previous
        # From there the keys lead back as from a boundary.
        await screen.press("left")
        await screen.wait_until(lambda: top.inspector_state.iteration == 1)
        assert top.inspector_state.tensor is not None
        assert top.inspector_state.tensor[()] == screen.session.frame.history.value("x", 1)
