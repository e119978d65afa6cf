"""Values of two iterations stood side by side without a word: what an iteration got and what the next one gets, what is
not computed yet, and at a boundary a slice of the next iteration under the title of the last."""

from __future__ import annotations

import numpy as np
import pytest

from app_driver import open_app
from console_recorder import ConsoleRecorder
from loopdbg.debugger.session.session import Session
from loopdbg.tui.render.stop_view import build_stop_view
from loopdbg.tui.render.timeline_rows import BranchHistory
from text_models import NESTED, SUM, model

SLICED = """g (float[N] x, float h0) => (float h, float[M] ys) {
  h, ys = Scan <num_scan_inputs = 1, body = b (float a, float e) => (float a2, float y) {
    a2 = Add (a, e)
    y = Mul (a2, e)
  }> (h0, x)
}"""


def test_frame_names_both_values_of_a_back_edge() -> None:
    session = Session(model(SUM), {"M": 3, "v0": 1.0})
    first = ConsoleRecorder(session)("frame")
    assert first[0].endswith("before iteration 0 (trip count 3)") and first[1] == "  carried: iteration 0 gets"
    step = ConsoleRecorder(session)("step 2", "frame")[1:]
    assert step[0].endswith("before iteration 2 (trip count 3)")
    assert step[1:3] == ["  carried: iteration 1 got → iteration 2 gets", "  v_in  1.0 → 2.0"]
    inside = ConsoleRecorder(session)("next 3", "frame")
    item = next(k for k, line in enumerate(inside) if "carried" in line)
    assert "in iteration 2" in inside[item - 1]
    assert inside[item : item + 2] == ["  carried: iteration 2 got → it yields", "  v_in  2.0 → 4.0"]
    last = ConsoleRecorder(session)("finish", "frame")[1:]
    assert last[0].endswith("after iteration 2 (trip count 3), ended by the trip count")
    assert last[1] == "  carried: iteration 2 got → the loop gives"


def test_print_says_what_is_of_another_iteration() -> None:
    session = Session(model(SUM), {"M": 3, "v0": 1.0})
    session.step(2)
    assert ConsoleRecorder(session)("print v_in") == ["2.0"]
    assert ConsoleRecorder(session)("print v_out") == ["2.0  # v_out of iteration 1"]
    assert ConsoleRecorder(session)("print v_out - prev(v_in)") == ["1.0  # v_out of iteration 1"]
    assert ConsoleRecorder(session)("print v_out@1") == ["2.0"]
    assert "v_out = 2.0  # v_out of iteration 1" in ConsoleRecorder(session)("info values")
    assert "1: v_out = 2.0  # v_out of iteration 1" in ConsoleRecorder(session)("display v_out")
    # Inside the iteration, before the node and after it.
    assert ConsoleRecorder(session)("next 2", "print v_out")[-1] == "2.0  # v_out of iteration 1"
    assert ConsoleRecorder(session)("next", "print v_out")[-1] == "4.0"


def test_the_same_of_frames() -> None:
    session = Session(model(SUM), {"M": 3, "v0": 1.0})
    session.step(2)
    frame = session.frame
    assert (frame.iteration_of("v_in"), frame.iteration_of("v_out"), frame.iteration_of("M")) == (2, 1, None)
    assert repr(frame).endswith("before iteration 2>")
    assert repr(frame.show("v_out")) == "v_out = 2.0  # v_out of iteration 1"
    assert "iteration 1 got" in frame._repr_html_() and "iteration 2 gets" in frame._repr_html_()


def test_a_view_at_a_boundary_is_of_one_iteration() -> None:
    x = np.array([2, 3, 5, 7], np.float32)
    session = Session(model(SLICED), {"x": x, "h0": 1.0})
    session.step(2)
    values = build_stop_view(session, BranchHistory()).selected.values
    assert [float(values[name]) for name in ("a", "e", "a2", "y")] == [3, 3, 6, 18]
    session.next_node()
    values = build_stop_view(session, BranchHistory()).selected.values
    assert [float(values[name]) for name in ("a", "e", "a2")] == [6, 5, 11]
    session.finish()
    values = build_stop_view(session, BranchHistory()).selected.values
    assert [float(values[name]) for name in ("a", "e", "a2")] == [11, 7, 18]


async def test_the_slice_on_the_screen() -> None:
    x = np.array([2, 3, 5, 7], np.float32)
    async with open_app(model(SLICED), {"x": x, "h0": np.float32(1)}) as screen:
        await screen.press("s", "s")
        assert "values of iteration 1" in screen.text("body")
        assert screen.value_next_to("e") == "3.0"
        await screen.press("n")
        assert "values of iteration 2, so far" in screen.text("body")
        assert screen.value_next_to("e") == "5.0"


async def test_scan_outputs_of_the_loops_around() -> None:
    async with open_app(model(NESTED), {"M": np.int64(4), "K": np.int64(3)}) as screen:
        await screen.press("s", "s", "n", "i")
        assert any(line.startswith("inner_seen ") for line in screen.lines("scans"))
        [outer] = [line for line in screen.lines("scans") if line.startswith("seen ")]
        assert "i64 [2]  2 so far  of loop 'Loop_1'" in outer


@pytest.mark.parametrize("expression", ["seen", "len(seen) - 1"])
def test_scan_outputs_of_the_loops_around_can_be_asked_for(expression: str) -> None:
    session = Session(model(NESTED), {"M": 4, "K": 3})
    session.step(2)
    session.next_node()
    session.into()
    assert session.frame.path.count("▸") == 2
    result = session.frame[expression]
    assert np.array_equal(result, [0, 4] if expression == "seen" else 1)
