"""Loops whose condition is tested before its iteration (TensorRT's kWHILE), in the debugger."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loopdbg
from loopdbg.debugger.compare.running.boundary_merge import ComparisonOptions, compare_sides
from loopdbg.debugger.compare.running.sides import ModelSide
from loopdbg.debugger.describe.node_text import NodeFormatter
from loopdbg.debugger.describe.termination_text import termination_sentences
from loopdbg.debugger.frontends.console.console import Console
from loopdbg.debugger.termination.explanation import explain_termination
from loopdbg.debugger.trace.reader import Trace, store_of
from loopdbg.debugger.trace.recorder import Recorder
from loopdbg.debugger.trace.recorder import RecordOptions as Recording
from loopdbg.debugger.trace.replay import Replay
from loopdbg.debugger.trace.resume import find_resume_point, restore_engine
from loopdbg.runtime.frontends.tensorrt.enums import TripLimit
from loopdbg.runtime.graph import StoppedBy
from loopdbg.runtime.graph.graph_json import graph_from_json, graph_to_json
from loopdbg.runtime.graph.producers import ProducerMap
from recordings import assert_same_boundary, record_run
from tensorrt_networks import NetworkBuilder, Op, output_of
from text_models import model

FEEDS: dict[str, Any] = {"x": np.float32(4), "n": np.int32(4), "rows": np.arange(8, dtype=np.float32).reshape(4, 2)}


def doubling() -> loopdbg.Model:
    """A loop that doubles x while it is below 32, at most n times."""
    net = NetworkBuilder()
    loop = net.counted_loop(net.input_tensor("n", "int32"))
    loop.name = "doubling"
    r, doubled = net.add_carried(loop, net.input_tensor("x"), lambda r: net.elementwise(r, r))
    below = net.elementwise(r, net.const(32.0), Op.LESS)
    loop.add_trip_limit(below, TripLimit.WHILE)
    row = output_of(loop.add_iterator(net.input_tensor("rows", shape=(4, 2))))
    r.name, doubled.name, below.name, row.name = "r", "doubled", "below", "row"
    net.last(loop, r, "last")
    net.stack(loop, r, "xs", 6)
    net.stack(loop, row, "back", 5, reverse=True)
    return net.model()


def start(**inputs: Any) -> loopdbg.Session:
    return loopdbg.debug(doubling(), {**FEEDS, **inputs})


def console_output(session: loopdbg.Session, *commands: str) -> list[str]:
    lines: list[str] = []
    console = Console(session, lines.append)
    for command in commands:
        console.execute(command)
    return lines


def test_boundary_knows_whether_its_iteration_runs() -> None:
    session = start()
    seen = []
    while not session.done:
        frame = session.frame
        if frame.at_boundary:
            seen.append((frame.iteration, float(frame.carried["r"]), frame.condition, frame.stopped_by))
        session.step()
    assert seen == [(0, 4, True, None), (1, 8, True, None), (2, 16, True, None), (3, 32, False, StoppedBy.CONDITION)]
    assert session.outputs is not None
    assert session.outputs["xs"].tolist() == [4, 8, 16, 0, 0, 0]
    assert session.outputs["back"].tolist() == [[4, 5], [2, 3], [0, 1], [0, 0], [0, 0]]


def test_condition_nodes_come_before_the_boundary_in_both_directions() -> None:
    session = start()
    forward = [session.controller.engine.position]
    for _ in range(5):
        session.next_node()
        forward.append(session.controller.engine.position)
    assert forward == sorted(forward)
    names = [session.controller.engine.plan.code[position[-1]].node for position in forward[1:]]
    assert [node.outputs[0].name for node in names if node is not None][:3] == ["below", "doubled", "below"]
    for position in reversed(forward[:-1]):
        session.back_node()
        # The first node of an iteration follows its boundary.
        assert session.controller.engine.position <= position
    assert session.controller.engine.position <= forward[1]


def test_every_way_to_a_position_gives_the_same_state() -> None:
    session = start()
    session.goto(3)
    assert (session.frame.stopped_by, float(session.frame.values["doubled"])) == (StoppedBy.CONDITION, 32)
    session.goto(1)
    assert (session.frame.condition, bool(session.frame.values["below"])) == (True, True)
    session.back()
    assert session.frame.iteration == 0
    session.continue_()
    assert session.outputs is not None and session.outputs["last"] == 32


@pytest.mark.parametrize(("text", "xs"), [("r = 1.0", [4, 8, 1, 2]), ("r = 100.0", [4, 8]), ("cond = false", [4, 8])])
def test_edit_at_a_boundary_reevaluates_the_condition(text: str, xs: list[float]) -> None:
    session = start()
    session.step(2)
    console_output(session, f"set {text}")
    ended = len(xs) == 2
    assert session.frame.condition is not ended
    assert session.frame.stopped_by is (StoppedBy.CONDITION if ended else None)
    session.continue_()
    assert session.outputs is not None
    assert session.outputs["xs"].tolist() == xs + [0] * (6 - len(xs))


def test_raised_trip_count_leaves_the_condition_to_decide() -> None:
    session = start(n=np.int32(2))
    session.step(2)
    assert session.frame.stopped_by is StoppedBy.TRIP_COUNT
    assert explain_termination(session).headline == "loop 'doubling' ended after 2 iterations: the trip count is 2"
    console_output(session, "set trip_count = 4")
    assert (session.frame.stopped_by, session.frame.condition) == (None, True)
    session.step()
    assert session.frame.stopped_by is StoppedBy.CONDITION


def test_why_and_termination() -> None:
    session = start()
    assert explain_termination(session).headline == "loop 'doubling' begins: below = r < 32.0 is true: 4.0 < 32.0"
    session.step(3)
    assert explain_termination(session).headline == (
        "loop 'doubling' ended after 3 iterations: below = r < 32.0 is false: 32.0 < 32.0"
    )
    loop = session.model.loops[0].loop
    assert list(termination_sentences(loop, NodeFormatter(ProducerMap.for_graph(session.model.graph)))) == [
        "When below = r < 32.0 is false, or after n iterations, whichever comes first.",
        "It is asked before each iteration, about that iteration: where it is false, that one does not run.",
        "Nothing runs where n is 0 or the condition is false at first.",
    ]


def test_values_are_sequences() -> None:
    session = start()
    session.step(3)
    assert console_output(session, "print below") == ["false", "sequence <true, true, true, false>"]
    assert console_output(session, "print doubled")[1] == "sequence <8.0, 16.0, 32.0>, not needed at 3"
    assert console_output(session, "print r")[1] == "sequence <4.0, 8.0, 16.0, 32.0>"
    assert console_output(session, "print below@1") == ["true"]
    assert console_output(session, "print prev(below)") == ["true"]


def test_listing_is_wrapped_before_slices_are_truncated() -> None:
    lines = [line.split("│")[0].split("#")[0].strip(" ▶0123456789") for line in console_output(start(), "list")]
    where = {text: k for k, text in enumerate(lines)}
    assert (
        where["below = r < 32."] < where["if not below: break"] < where["row = rows[i, :]"] < where["doubled = r + r"]
    )


def test_recording_shows_what_the_session_shows(tmp_path: Path) -> None:
    session = start()
    with Recorder(tmp_path / "run.loopdb", session.model, FEEDS, Recording(nodes=True)) as recorder:
        recorder.finish(session.model.execute(FEEDS, on_iteration=recorder))
    with Trace.open(tmp_path / "run.loopdb") as trace:
        replay = Replay(trace)
        for _ in range(4):
            here, is_present = session.frame, replay.frame
            for word in ("iteration", "condition", "stopped_by"):
                assert getattr(here, word) == getattr(is_present, word)
            assert [node.state for node in here.nodes] == [node.state for node in is_present.nodes]
            for name in ("r", "below", "row", *(["doubled"] if here.iteration else [])):
                assert np.array_equal(here.values[name], is_present.values[name]), (here.iteration, name)
            assert explain_termination(session).headline == explain_termination(replay.frame).headline
            session.step()
            replay.step()


def test_boundaries_are_recorded_unchanged(tmp_path: Path) -> None:
    for n in (2, 4):
        trace, seen, _ = record_run(tmp_path / f"{n}.loopdb", doubling(), {**FEEDS, "n": np.int32(n)}, nodes=True)
        with trace:
            kept = list(trace.boundaries("main ▸ doubling"))
        assert len(kept) == len(seen) == n + 1 if n < 4 else 4
        for a, b in zip(kept, seen, strict=True):
            assert_same_boundary(a, b)
            assert a.computed.keys() == b.computed.keys()


@pytest.mark.parametrize("after", [1, 2, 3])
def test_run_resumes_from_its_trace(tmp_path: Path, after: int) -> None:
    loaded, path = doubling(), tmp_path / "cut.loopdb"
    recorder, count = Recorder(path, loaded, FEEDS), 0

    class Cut(Exception):
        pass

    def hook(frame: loopdbg.Frame) -> None:
        nonlocal count
        recorder(frame)
        count += 1
        if count == after:
            raise Cut

    with pytest.raises(Cut):
        loaded.execute(FEEDS, on_iteration=hook)
    recorder.close()
    with Trace.open(path) as trace:
        position = find_resume_point(store_of(trace), loaded)
        run = loaded.execute(FEEDS, begin=lambda engine: restore_engine(engine, position, store_of(trace)))
    whole = loaded.execute(FEEDS)
    assert all(np.array_equal(run.outputs[name], value) for name, value in whole.outputs.items())
    assert (run.loops[0].iterations, run.loops[0].stopped_by) == (3, StoppedBy.CONDITION)


@pytest.mark.parametrize(
    ("condition", "iteration"),
    [("not below", 3), ("below", 1), ("doubled > 10", 2), ("prev(below) and not below", 3), ("r == 16", 2)],
)
def test_breakpoints_on_boundary_state(condition: str, iteration: int) -> None:
    for native in (True, False):
        session = start()
        session.controller.engine.binder.native_enabled = native
        console_output(session, f"break if {condition}")
        session.continue_()
        assert session.frame.iteration == iteration


def test_same_loop_in_onnx_carries_the_same_values() -> None:
    """An ONNX condition is about the next iteration: tested on the yielded values, it gives the same result."""
    other = model(
        """
        other (float x, int64 n) => (float last, float[K] xs) {
          limit = Constant <value = float {32.0}> ()
          first = Less (x, limit)
          last, xs = Loop <body = b (int64 i, bool c, float r) => (bool below, float doubled, float seen) {
            doubled = Add (r, r)
            seen = Identity (r)
            below = Less (doubled, limit)
          }> (n, first, x)
        }
        """
    )
    here, is_present = (
        ModelSide(item, feeds) for item, feeds in ((doubling(), FEEDS), (other, {"x": FEEDS["x"], "n": 4}))
    )
    result = compare_sides(here, is_present, ComparisonOptions())
    [loop] = result.loops
    assert (loop.iterations, loop.differing_iterations, loop.trips, loop.same) == (3, 0, None, True)
    assert not result.static_differences
    assert not result.outputs
    assert "the output 'xs' of test is padded to 6, and other has 3: the first 3 are compared" in result.notes


def test_json_graph_is_the_same_loop() -> None:
    graph = graph_from_json(graph_to_json(doubling().graph))
    again = loopdbg.Model(graph)
    loop = again.loops[0].loop
    assert (loop.condition_node_count, [scan.length is not None for scan in loop.scan_outputs]) == (1, [True, True])
    assert loop.describe().startswith("ILoop 'doubling' (tensorrt_networks.py:")
    assert np.array_equal(again.run(FEEDS)["back"], doubling().run(FEEDS)["back"])
