"""Padding is not drawn as a result: zeros up to a maximum length, and elements after the end of shorter sequences. The
growth direction of a scan output is visible at every width."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopdbg
from app_driver import open_app
from loopdbg.debugger.frame_state import ScanState
from loopdbg.debugger.session.stop_state import read_stop
from loopdbg.runtime.graph import loops
from loopdbg.runtime.graph.graph_json import graph_from_json, graph_to_json
from loopdbg.tui.actions import PANE_KEYS
from loopdbg.tui.render.scan_pictures import PADDING_SIGN, draw_scan
from tensorrt_networks import NetworkBuilder
from text_models import model

SIZES = [(80, 24), (120, 36), (200, 60)]


def padded(reverse: bool, shape: tuple[int, ...]) -> loopdbg.Model:
    """A model that doubles x n times, and collects it in a buffer of eight rows."""
    net = NetworkBuilder()
    loop = net.counted_loop(net.input_tensor("n", "int32"))
    r, doubled = net.add_carried(loop, net.input_tensor("x", shape=shape), lambda r: net.elementwise(r, r))
    r.name, doubled.name = "r", "doubled"
    net.stack(loop, doubled, "xs", 8, reverse=reverse)
    net.last(loop, r, "last")
    return net.model()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("reverse", [False, True])
async def test_rows_beyond_the_trip_count_are_padding(size: tuple[int, int], reverse: bool) -> None:
    feeds = {"n": np.int32(5), "x": np.array([1, -2, 3], np.float32)}
    async with open_app(padded(reverse, (3,)), feeds, size=size) as screen:
        await screen.press(PANE_KEYS["scans"], "s", "s", "f")
        facts, note, *rows = screen.lines("scans")
        assert "f32 [5,3] of [8,3]" in facts and (" ←" in facts) == reverse
        assert "zeros up to 8 ╌" in note
        # The side of the padding does not depend on the direction.
        filling = [set(row.split()[1]) == {PADDING_SIGN} for row in rows[:8]]
        assert filling == [False] * 5 + [True] * 3
        labels = [int(row.split()[0]) for row in rows[:8]]
        assert labels == ([4, 3, 2, 1, 0, 5, 6, 7] if reverse else list(range(8)))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("reverse", [False, True])
async def test_scalars_beyond_the_trip_count_are_padding(size: tuple[int, int], reverse: bool) -> None:
    async with open_app(padded(reverse, ()), {"n": np.int32(5), "x": np.float32(1)}, size=size) as screen:
        await screen.press(PANE_KEYS["scans"], "f")
        facts = screen.lines("scans")[0]
        assert "f32 [5] of [8]" in facts and (" ←" in facts) == reverse
        foot = screen.lines("scans")[-1]
        assert foot.endswith(PADDING_SIGN) and foot.count(PADDING_SIGN) / len(foot) == 3 / 8
        assert not any(PADDING_SIGN in row for row in screen.lines("scans")[2:-1])


def test_padding_is_marked_in_few_cells_and_on_one_line() -> None:
    numbers = np.arange(60, dtype=np.float32)
    scan = ScanState("xs", 0, True, False, 60, (60,), "float32", (), numbers, length=80)
    for width in (8, 20, 40, 79):
        result = draw_scan(scan, width, 1)
        assert result is not None and len(result.lines[0]) <= width
        assert abs(result.lines[0].count(PADDING_SIGN) - len(result.lines[0]) / 4) <= 1
        assert result.lines[0].endswith(PADDING_SIGN) and PADDING_SIGN not in result.lines[0].rstrip(PADDING_SIGN)
    rows = ScanState("ys", 0, True, True, 60, (60, 2), "float32", (), np.ones((60, 2)), length=80)
    result = draw_scan(rows, 30, 4)
    assert result is not None and [PADDING_SIGN in line for line in result.lines] == [False, False, False, True]
    # A tensor without a length has no padding.
    plain = ScanState("xs", 0, True, False, 60, (60,), "float32", (), numbers)
    assert PADDING_SIGN not in "".join((draw_scan(plain, 40, 3) or rows).lines)


GRU = """g (float[6,3,2] x, float[2,12,2] w, float[2,12,4] r, int32[3] lens) => (float[6,2,3,4] y) {
  [both] y = GRU <hidden_size = 4, direction = "bidirectional"> (x, w, r, , lens)
}"""


def gru_inputs(lengths: list[int]) -> dict[str, Any]:
    random = np.random.default_rng(1)
    shapes = {"x": (6, 3, 2), "w": (2, 12, 2), "r": (2, 12, 4)}
    results = {name: random.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    return {**results, "lens": np.array(lengths, np.int32)}


@pytest.mark.parametrize("size", SIZES)
async def test_padding_after_shorter_sequences_is_marked(size: tuple[int, int]) -> None:
    lengths = np.array([2, 6, 4])
    wanted = np.arange(6)[:, None] >= lengths
    async with open_app(model(GRU), gru_inputs(lengths.tolist()), size=size) as screen:
        await screen.press(PANE_KEYS["scans"], "f")
        for reverse in (False, True):
            facts, note, *rows = screen.lines("scans")
            assert (" ←" in facts) == reverse and "╌ filling" in note
            cells = [row[2:].ljust(48) for row in rows[:6]]
            result = np.array([[row[16 * k : 16 * k + 16].count(PADDING_SIGN) for k in range(3)] for row in cells])
            # In time order, in either reading direction.
            np.testing.assert_array_equal(result, 16 * wanted)
            if not reverse:
                await screen.press("s", "s", "s")
                rows = screen.lines("scans")[2:4]
                # The last two steps, of which only the second sequence has any.
                assert [row[2:].ljust(48)[:16] for row in rows] == [PADDING_SIGN * 16] * 2
                assert [row[18:34].count(PADDING_SIGN) for row in rows] == [0, 0]
                await screen.press("f")


async def test_equal_lengths_show_no_padding_note() -> None:
    async with open_app(model(GRU), gru_inputs([6, 6, 6])) as screen:
        await screen.press("f")
        assert PADDING_SIGN not in screen.text("scans")


SCAN_8 = """g (int64[3] lens, float[3,1] k0, float[3,4,1] x) => (float[3,1] k, float[3,4,1] y) {
  [both] k, y = Scan <num_scan_inputs = 1, body = b (float[1] ki, float[1] xi) => (float[1] ko, float[1] yo) {
    ko = Add (ki, xi)
    yo = Identity (ko)
  }> (lens, k0, x)
}"""


async def test_padding_after_the_shorter_sequences_of_a_batch_is_marked() -> None:
    feeds = {"lens": np.array([2, 4, 3]), "k0": np.zeros((3, 1), np.float32), "x": np.ones((3, 4, 1), np.float32)}
    async with open_app(model(SCAN_8, opset=8), feeds) as screen:
        await screen.press("c")
        frame = read_stop(screen.session).frame
        assert [scan.valid.tolist() for scan in frame.scans if scan.valid is not None] == [[2, 4, 3]]
        rows = [line for line in screen.lines("scans") if line[:2] in ("0 ", "1 ", "2 ")][-3:]
        assert [row.count(PADDING_SIGN) for row in rows] == [8, 0, 4]
        assert all(row.rstrip(PADDING_SIGN).find(PADDING_SIGN) < 0 for row in rows)


def test_cached_graph_keeps_its_padding() -> None:
    read = graph_from_json(graph_to_json(model(GRU).graph))
    for loop in loops(read):
        (scan,) = loop.scan_outputs
        assert scan.valid is not None and scan.valid in [input_value.inner for input_value in loop.sliced_inputs]
